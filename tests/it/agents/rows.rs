//! The rows of the page that says which tests show what, as far as they are about coding agents.

use crate::seeds::Row;

/// The seeds' rows about agents and their limits.
pub(crate) const ROWS: [Row; 6] = [
    Row(
        7,
        "5, 15 and 45 seconds, or what the vendor asks for; no iteration is used up",
        "the gateway waits, so that the agent sees a slow call",
        &[
            "a_limit_is_waited_for_three_times_and_as_long_as_it_asks",
            "a_limited_vendor_is_waited_for_and_the_agent_sees_a_slow_call",
            "a_wait_that_stands_in_the_body_is_as_long_as_that_says",
        ],
    ),
    Row(
        8,
        "limits by words on standard error alone",
        "the gateway knows them by the vendor's answer; words count for an agent that asked no model through it",
        &[
            "s3_8_each_pattern_is_one_and_finds_its_words",
            "s3_8_loose_words_need_an_exit_code_that_fits",
            "s3_8_the_words_around_it_are_told_on_one_line_and_how_long_it_lasts",
            "s3_8_its_words_on_standard_error_are_waited_for_and_then_another_is_asked",
            "s3_8_the_time_that_it_names_is_waited_or_told",
            "s3_8_other_words_of_one_that_asked_no_model_are_no_limit",
        ],
    ),
    Row(
        9,
        "the next target, told as `agent_switched`; all limited: told and parked",
        "",
        &[
            "a_vendor_that_stays_limited_is_left_for_the_next_target",
            "where_an_agent_cannot_be_asked_the_next_target_of_the_tier_is",
            "where_all_are_limited_the_run_parks_with_the_time_and_goes_on_later",
        ],
    ),
    Row(
        10,
        "the first target is first again in the next iteration",
        "no call is spent on finding out (B20)",
        &[
            "the_first_target_is_asked_first_again_in_the_next_iteration_and_no_call_finds_out",
            "one_whose_time_is_not_over_is_passed_over_without_a_call",
        ],
    ),
    Row(
        11,
        "what is limited is forgotten when the task is done",
        "a run is one task; what its account said stays with the account until it is over",
        &[
            "one_that_answered_is_as_any_other",
            "a_target_is_not_asked_twice_in_an_iteration_and_first_again_in_the_next",
        ],
    ),
    Row(
        12,
        "sub-agents: a tree with depth, parent, state and cost",
        "",
        &[
            "helpers_of_an_agent_are_told_as_a_tree_with_what_they_cost",
            "sub_agents_are_a_tree_with_its_states",
            "the_caller_of_a_call_is_the_parent_of_what_it_starts",
        ],
    ),
];

/// The promises about agents and their gateway, in their order.
pub(crate) const PROMISES: [Row; 26] = [
    Row(
        1,
        "four wires in and through, receipts as the vendor bills",
        "",
        &["on_every_wire_the_receipts_are_the_vendors_bill"],
    ),
    Row(
        2,
        "streams pass as they come, and a broken one is never cheaper than the bill",
        "",
        &[
            "a_stream_passes_as_it_comes_and_a_hang_up_settles_at_what_is_known",
            "a_cut_answer_is_cut_for_the_client_too_and_never_cheaper_than_the_bill",
        ],
    ),
    Row(3, "a token for each session", "", &["only_who_brings_the_sessions_key_is_served_and_only_model_calls"]),
    Row(
        4,
        "the model is pinned, side calls are told apart on the same budget",
        "",
        &[
            "a_pin_holds_every_call_and_tells_side_calls_apart",
            "a_pinned_model_makes_every_call_and_side_calls_are_told_apart",
            "side_calls_are_made_with_the_side_model_and_told_apart",
            "side_calls_that_the_tiers_own_model_answers_are_told_apart_too",
            "a_title_that_fails_says_nothing_about_finished_work",
            "a_limited_side_model_costs_a_title_and_no_session",
        ],
    ),
    Row(
        5,
        "limits of replies are added, or lowered to what is affordable",
        "",
        &[
            "a_limit_is_added_where_none_is_and_lowered_to_what_the_cap_affords",
            "a_limit_that_is_no_number_is_set_anew_beside_one_that_is",
        ],
    ),
    Row(
        6,
        "at the cap each wire is refused as its agents understand, and nothing goes on",
        "",
        &[
            "on_every_wire_the_cap_is_hard_and_refused_as_its_agents_understand",
            "after_the_first_refusal_nothing_goes_on_any_more",
        ],
    ),
    Row(
        7,
        "everything is ended within five seconds of the first refusal, not a cent over",
        "",
        &[
            "a_stubborn_program_is_gone_within_five_seconds_of_the_first_refusal",
            "an_agent_that_hears_no_signal_is_gone_within_five_seconds_of_the_first_refusal",
            "each_is_ended_within_five_seconds_of_the_first_refusal_and_not_a_cent_over",
        ],
    ),
    Row(
        8,
        "2 ms a call, 5 % of a stream of 1 MB",
        "`cargo bench --bench overhead -- gateway check`, in `.ci/nightly`",
        &[],
    ),
    Row(
        9,
        "`upshift gateway`: a program without a key, under a cap, with a log",
        "",
        &[
            "the_programs_exit_code_is_ours_and_the_log_reads_as_a_session",
            "the_key_is_nowhere_in_the_programs_environment",
            "secrets_that_are_known_leave_in_no_body",
            "a_killed_upshift_leaves_no_program_behind",
        ],
    ),
    Row(
        10,
        "agents in any tier and role, beside models; two tiers of different agents with the handover",
        "",
        &[
            "an_agent_in_one_tier_mends_and_its_bill_is_ours",
            "a_mixed_ladder_hands_over_from_models_to_codex_to_claude",
            "roles_that_read_are_held_by_agents_too_and_change_nothing",
        ],
    ),
    Row(
        11,
        "each of the six real ones mends, its calls the receipts, its bill the mock's",
        "",
        &["claude_mends", "codex_mends", "opencode_mends", "gemini_mends", "copilot_mends", "qwen_mends"],
    ),
    Row(
        12,
        "a command and arguments of one's own are no other agent's (B18)",
        "",
        &["b18_a_command_and_arguments_of_ones_own_are_no_other_agents", "b18_an_agents_own_words_are_no_other_agents"],
    ),
    Row(
        13,
        "ACP: files and permissions are ours",
        "by hand from its schema",
        &[
            "its_files_and_permissions_are_ours_and_what_judges_is_refused_when_it_is_written",
            "a_role_that_reads_gets_no_file_written",
            "a_request_that_is_too_long_to_be_read_is_answered_too",
            "gemini_mends_by_the_agent_client_protocol",
        ],
    ),
    Row(
        14,
        "one stream of events, the same wherever its bytes are cut (B22, B24)",
        "",
        &[
            "b22_every_recorded_stream_reads_the_same_wherever_it_is_cut",
            "b24_each_agents_words_tools_and_end_are_read",
            "rate_limits_that_agents_tell_are_read_as_such",
            "what_no_agent_ever_said_is_kept_and_no_error",
        ],
    ),
    Row(
        15,
        "memory is bounded, and the whole stream is beside the log; a long answer takes none of the gateway's",
        "what was before the newest 2 MB of an agent's stream takes 64 MB of disk at most, which is told; the artifact has the newest",
        &[
            "what_is_kept_is_bounded_and_is_the_end",
            "a_raw_stream_is_kept_whole",
            "s3_15_a_whole_stream_is_on_disk_from_its_beginning_and_memory_holds_its_end",
            "s3_15_the_beginnings_of_long_streams_have_a_bound_that_is_told",
            "a_long_stream_takes_no_memory_of_ours",
        ],
    ),
    Row(
        16,
        "a prompt that is repeated is nobody's word (B15); COMPLETE asks for the tests earlier",
        "",
        &["b15_an_echoed_prompt_is_not_the_agents_word", "complete_only_ends_the_session_earlier_and_the_tests_judge"],
    ),
    Row(
        17,
        "what no cap can hold is refused with 400; dear tiers are not asked for, and billed as such if served",
        "",
        &[
            "what_cannot_be_bounded_is_refused_and_reaches_no_vendor",
            "a_vendor_that_would_choose_a_service_tier_is_asked_for_the_ordinary_one",
            "a_server_that_knows_no_service_tiers_is_asked_for_none",
            "a_vendor_that_serves_a_dearer_tier_is_billed_as_such_and_asked_no_more",
            "a_dear_tier_ends_the_session_as_what_it_is_and_costs_at_most_what_vendors_publish",
            "an_hours_cache_and_a_long_prompt_cost_more",
        ],
    ),
    Row(
        18,
        "one door; without it a person's word",
        "",
        &[
            "without_namespaces_the_gateways_port_is_the_one_door_and_the_report_says_what_that_leaves_open",
            "check_says_by_which_door_agents_reach_their_model_and_what_it_costs",
            "without_namespaces_and_with_an_old_landlock_an_agent_needs_a_persons_word",
            "where_the_kernel_confines_nothing_an_agent_needs_a_persons_word",
        ],
    ),
    Row(
        19,
        "no key in environment, files or memory; the home is private and removed",
        "",
        &[
            "the_key_is_nowhere_where_an_agent_can_look",
            "the_key_is_nowhere_in_the_memory_of_an_agent_or_of_what_it_started",
            "outside_of_the_sandbox_an_agents_home_is_its_own_too",
        ],
    ),
    Row(
        20,
        "a kill of upshift leaves no agent",
        "",
        &["a_kill_of_upshift_leaves_no_agent_and_nothing_that_it_started"],
    ),
    Row(
        21,
        "its edits are taken from the tree, those in protected places are put back and told",
        "",
        &[
            "renames_deletes_modes_and_new_files_are_the_change_and_protected_ones_are_put_back",
            "what_git_ignores_and_what_the_tests_make_themselves_is_no_part_of_a_fix",
        ],
    ),
    Row(
        22,
        "outside of our sandbox nobody is freed of approvals",
        "",
        &[
            "outside_of_our_sandbox_no_agent_is_freed_of_its_own_approvals",
            "each_mends_outside_of_the_sandbox_with_its_own_approvals",
        ],
    ),
    Row(
        23,
        "`check` says which are there, in which version",
        "",
        &["check_says_which_are_there_in_which_version", "check_says_which_are_there_also_where_the_ladder_names_none"],
    ),
    Row(
        24,
        "`doctor` runs each for a turn",
        "",
        &[
            "each_agent_takes_one_turn_against_the_doctors_own_model_and_no_vendor_is_asked",
            "each_passes_the_doctors_trial_without_a_vendor",
        ],
    ),
    Row(
        25,
        "the Action brings agents in exact versions, without keys",
        "",
        &[
            "anything_but_exact_versions_of_known_agents_is_refused_before_anything_is_fetched",
            "agents_are_installed_for_real_in_a_hostile_checkout_and_start",
        ],
    ),
    Row(
        26,
        "time and death end an agent and not its work",
        "",
        &[
            "what_ended_an_agent_before_its_own_end_is_told",
            "an_agent_that_died_is_not_done_and_the_tests_judge_what_it_left",
        ],
    ),
];

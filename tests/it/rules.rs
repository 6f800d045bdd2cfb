//! How a session is held, rule by rule.

use crate::seeds::Row;

/// What the specification says of sessions.
pub(crate) const ROWS: [Row; 20] = [
    Row(
        1,
        "everything is checked before anything is paid for; a session has an id, its parent's and the first one's",
        "",
        &[
            "every_error_of_every_source_is_told_at_once",
            "a_run_in_full_mode_is_one_tree_in_which_each_operation_lies_within_the_one_above",
        ],
    ),
    Row(
        2,
        "no state but what is written down; cleanup, and an end that is told, whatever the end",
        "",
        &["the_conversation_is_kept_as_a_snapshot", "a_session_always_ends_with_a_report_and_within_its_cap"],
    ),
    Row(
        3,
        "three attempts at a turn in total, ten turns",
        "40 turns unless `agent.maxTurns` says otherwise: a repair reads more than an answer does",
        &["three_attempts_are_three_calls_in_total"],
    ),
    Row(
        4,
        "targets in their order and again from the first; on to the next by a skip alone",
        "",
        &["no_script_of_failures_breaks_the_invariants"],
    ),
    Row(
        5,
        "each failure of a call by its kind",
        "",
        &["a_refused_key_or_quota_is_not_asked_again", "each_failure_has_its_reason_to_give_up"],
    ),
    Row(
        6,
        "a pause only where all targets are limited, of 1 to 60 seconds, never without an attempt left",
        "",
        &[
            "waits_for_a_rate_limit_stay_between_one_second_and_one_minute",
            "no_sleep_is_asked_for_when_no_attempt_is_left",
        ],
    ),
    Row(
        7,
        "text that asks for nothing is a failed attempt with guidance",
        "",
        &["text_that_asks_for_nothing_is_a_failed_attempt_with_guidance"],
    ),
    Row(
        8,
        "what failed is told once, in one message, the latest in the place of the one before",
        "",
        &["useless_replies_are_answered_with_advice_and_cost_their_attempt"],
    ),
    Row(
        9,
        "the window is looked at before each call: go on, skip the target, or report",
        "the window and the longest reply are the model's own, where they are known",
        &["a_nearly_full_window_forces_the_report", "a_target_that_is_too_small_is_skipped"],
    ),
    Row(
        10,
        "an output of more than 12,288 bytes stands behind a handle",
        "",
        &["a_long_output_stands_behind_a_handle", "the_budget_of_a_session_is_never_passed"],
    ),
    Row(
        11,
        "on the last turn only the report counts, and the router's tool while there is none",
        "",
        &[
            "the_last_turn_asks_for_the_report_and_offers_the_tools_as_before",
            "another_tool_in_the_last_turn_is_not_answered_and_the_report_is_asked_for_again",
            "a_task_may_be_handed_over_on_the_last_turn",
        ],
    ),
    Row(
        12,
        "final is a report with every required block; without one it is locked, and only blocks count",
        "one that never comes is a warning and `final_meta_missing`, and costs no proven fix (issue 18)",
        &[
            "a_report_without_its_block_is_locked_until_that_comes",
            "a_fix_whose_blocks_never_come_is_a_fix_all_the_same",
            "the_question_for_blocks_leaves_the_critic_its_money",
        ],
    ),
    Row(
        13,
        "where no report comes, one of ours says why",
        "",
        &["a_last_turn_without_a_report_ends_in_a_synthetic_one_and_carries_nothing_out"],
    ),
    Row(
        14,
        "a wish to end gives one last turn; a signal ends at once",
        "",
        &["a_wish_to_wrap_up_gives_one_last_turn", "between_a_reply_and_its_tools_nothing_more_is_carried_out"],
    ),
    Row(
        15,
        "22 ways to end, of sessions and of tools",
        "beside them three of our own, for caps, time and a missing block",
        &[
            "every_way_to_end_reaches_the_lines_and_the_tree_from_sessions_and_from_tools",
            "a_tool_whose_time_is_up_and_a_server_that_dies_cost_their_answers_alone",
            "a_session_whose_process_died_says_so_and_so_does_one_without_an_end",
        ],
    ),
    Row(
        16,
        "prices are looked at when a run begins; a cost is the sum over four kinds of tokens",
        "a model without a price is refused where there is a cap; money is whole micro-dollars (DESIGN 4)",
        &["a_free_model_is_always_affordable_and_an_unpriced_one_never", "cached_tokens_are_priced_by_kind"],
    ),
    Row(
        17,
        "a line for each call of a model and of a tool, with the path of who made it",
        "",
        &["a_call_has_exactly_the_promised_keys"],
    ),
    Row(
        18,
        "advisors before, a router instead, a handoff behind; a failure is a block with its reason",
        "text from outside stands between marks that nobody can guess, not tags (DESIGN 5)",
        &[
            "the_artisan_reads_what_advisors_found_and_each_call_names_its_advisor",
            "a_failing_advisor_is_a_block_with_its_reason_and_changes_no_verdict",
            "a_librarian_hands_over_to_a_specialist_whose_brief_counts",
            "a_failing_specialist_changes_no_verdict",
            "texts_are_written_about_a_proven_change_from_the_request_and_the_response",
            "a_text_that_is_not_written_changes_no_verdict",
            "under_any_composition_the_caps_hold_each_receipt_counts_once_and_the_tests_decide",
        ],
    ),
    Row(
        19,
        "agents are told of when they begin, go on and end; spans with `ai.agent.*` and `ai.session.*`",
        "",
        &[
            "a_session_is_started_updated_and_finished_or_failed",
            "what_a_model_says_beside_its_calls_is_told_once_in_a_line_without_secrets",
            "the_demos_trace_is_complete_and_taken_by_the_official_schema",
            "a_collector_gets_every_operation_below_the_span_of_who_started_us",
        ],
    ),
    Row(
        20,
        "a cached report is kept and used only with every required block valid",
        "a kept approval never stands in for the court (issue 18)",
        &[
            "the_same_question_is_answered_again_for_nothing",
            "a_report_without_its_required_block_is_neither_kept_nor_used",
            "only_a_log_of_the_default_branch_that_our_comment_quotes_gives_reports",
            "an_approval_that_is_used_again_never_stands_in_for_the_court",
        ],
    ),
];

//! The lifecycle that the seeds describe (SPEC S4-1 to S4-11), row by row, with the tests that fail where we fall short of it.

use crate::seeds::Row;

pub(crate) const ROWS: [Row; 11] = [
    Row(
        1,
        "snapshot, saved; a fresh agent with the summary; wait for the breakpoint; handle it",
        "",
        &[
            "red_ci_is_the_next_iterations_input_and_the_second_push_is_green",
            "s4_4_a_run_waits_without_a_job_for_what_it_is_blocked_on_and_a_fresh_session_goes_on",
            "the_workflow_of_init_comes_to_its_second_iteration_and_its_end_through_the_ends_of_ci",
        ],
    ),
    Row(
        2,
        "result types and LoopResult",
        "",
        &[
            "s4_2_every_end_has_the_seeds_word",
            "a_merge_is_waited_for_and_completes_the_task",
            "while_a_fix_for_the_same_failure_waits_in_a_pull_request_nobody_is_paid",
        ],
    ),
    Row(
        3,
        "complete, blocked or pr_pending with task, summary, blocked_on and reason; what is none of them is an error",
        "",
        &[
            "a_blocker_is_read_as_models_write_it",
            "what_is_in_the_way_is_named_before_the_reason",
            "text_without_a_tool_call",
        ],
    ),
    Row(
        4,
        "blocked: end, wait for an event or the interval, check the blockers again, spawn again",
        "",
        &[
            "s4_4_a_run_waits_without_a_job_for_what_it_is_blocked_on_and_a_fresh_session_goes_on",
            "a_blocked_run_goes_on_with_its_log_at_the_event_behind_the_end_of_what_was_in_its_way",
            "a_blocked_run_begins_again_once_what_is_in_its_way_is_gone",
            "the_end_of_a_pull_request_or_an_issue_has_the_blocked_run_looked_at",
        ],
    ),
    Row(
        5,
        "pr_created: end, wait for the merge; merged completes, closed or late keeps the result",
        "",
        &[
            "a_merge_is_waited_for_without_a_job_too",
            "a_pull_request_that_is_closed_meanwhile_ends_the_run_and_that_is_said",
            "a_merge_is_not_waited_for_longer_than_allowed",
        ],
    ),
    Row(
        6,
        "an error is counted, and a fresh agent goes on",
        "",
        &[
            "killed_behind_a_push_a_run_pushes_pays_and_comments_once",
            "b10_a_garbled_reply_costs_a_row_and_the_tier_goes_on",
            "a_killed_run_counts_with_what_it_left_beside_its_log",
        ],
    ),
    Row(
        7,
        "settings: retries, the interval, how often is looked, how long a merge is waited for",
        "",
        &[
            "the_runs_of_a_pull_request_are_counted_over_jobs_and_a_person_may_ask_for_one_more",
            "an_hour_of_waiting_costs_at_most_twenty_requests_and_one_for_each_page_that_changes",
            "the_waits_of_a_run_are_bounded_together",
            "five_minutes_before_the_job_ends_a_run_that_waits_in_it_is_parked",
            "fact_33_the_job_may_last_longer_than_the_caps_allow",
        ],
    ),
    Row(
        8,
        "what a snapshot holds",
        "",
        &[
            "red_ci_is_the_next_iterations_input_and_the_second_push_is_green",
            "s4_4_a_run_waits_without_a_job_for_what_it_is_blocked_on_and_a_fresh_session_goes_on",
        ],
    ),
    Row(
        9,
        "what a fresh agent is told: ten files, five commits, two sentences",
        "",
        &["s4_9_ten_files_and_five_commits_are_named_and_the_two_sentences_end_it"],
    ),
    Row(
        10,
        "CI: trigger, status, cancel, create, status of and merge a pull request, its events",
        "",
        &[
            "where_the_token_may_do_so_what_failed_runs_once_more_before_anybody_is_paid",
            "every_end_of_a_check_has_its_meaning",
            "every_stage_of_a_check_has_its_meaning",
            "a_newer_commit_of_somebody_else_ends_the_waiting_and_ci_of_ours",
            "a_pull_request_is_opened_once_wherever_the_process_is_killed",
            "merged_and_closed_pull_requests_are_told_apart",
            "auto_merge_is_enabled_behind_the_proof_and_a_repository_that_forbids_it_is_told_the_setting",
        ],
    ),
    Row(
        11,
        "the number of a pull request from its address",
        "",
        &[
            "a_blocker_is_read_as_models_write_it",
            "a_blocked_run_goes_on_with_its_log_at_the_event_behind_the_end_of_what_was_in_its_way",
        ],
    ),
];

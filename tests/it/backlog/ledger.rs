//! The work on many tasks that the seed describes (SPEC S3-1 to S3-6 and S3-13 to S3-20), row by row: the tests that fail where we fall
//! short of it, and where a part of a row is settled otherwise.

use crate::seeds::Row;

pub(crate) const ROWS: [Row; 14] = [
    Row(
        1,
        "status: idle, running, pausing, paused, stopping",
        "",
        &[
            "it_pauses_from_running_alone_and_a_pause_can_be_taken_back",
            "s3_14_it_pauses_goes_on_and_works_on_more_or_fewer_as_it_is_asked",
            "who_may_write_can_pause_add_and_stop_by_comments_and_others_may_not",
            "comments_are_heard_while_a_task_is_under_way_and_it_stops_behind_it",
        ],
    ),
    Row(
        2,
        "order of the loop, and its five ends",
        "a backlog whose last task is done has ended as completed also where no further task may be worked on; recovery of the primary is \
         the inner loop's (S3-10); the delay between iterations is the wait of a retry (docs/backlog.md)",
        &[
            "failing_tests_become_tasks_and_each_fix_a_commit",
            "so_many_tasks_are_worked_on_as_are_allowed",
            "what_is_not_mended_is_left_out_and_told_and_the_rest_is_done",
            "a_killed_backlog_goes_on_and_nothing_is_done_twice",
            "what_nobody_wants_any_more_is_counted_apart_and_an_error_ends_the_lines",
        ],
    ),
    Row(
        3,
        "which task is next",
        "",
        &[
            "the_next_task_is_ready_and_none_that_is_ready_comes_before_it",
            "every_backlog_without_a_circle_is_worked_off_in_an_order_of_its_dependencies",
            "stories_are_worked_off_in_their_order_and_marked_in_their_own_file",
        ],
    ),
    Row(
        4,
        "an iteration: selected, activated, worked on, told, and taken up again after a crash",
        "",
        &[
            "failing_tests_become_tasks_and_each_fix_a_commit",
            "a_killed_backlog_goes_on_and_nothing_is_done_twice",
            "a_failure_counts_once_however_its_retry_is_killed",
            "killed_in_the_middle_of_a_commit_it_commits_once_and_marks_the_story_once",
            "a_task_that_is_gone_on_with_is_told_from_its_beginning",
            "half_made_edits_of_a_killed_family_are_nobodys_tasks_and_nobodys_files",
        ],
    ),
    Row(
        5,
        "what completes a task",
        "no word of a model does: its tests or its command, the whole suite and the court do (PROOF)",
        &[
            "a_fix_that_breaks_what_passed_does_not_count_for_one_test_either",
            "what_is_not_mended_is_left_out_and_told_and_the_rest_is_done",
            "a_command_that_passes_already_proves_no_change",
        ],
    ),
    Row(
        6,
        "retry, skip, abort",
        "a retry is a task worked on, so that it cannot pass the limit (B16); a limit of an account defers a task (B17)",
        &[
            "what_is_not_mended_is_tried_left_out_or_ends_the_work",
            "limits_defer_a_task_once_and_never_count_as_failures",
            "a_task_that_waits_keeps_its_share_and_comes_once_more",
            "a_task_for_which_no_model_answers_does_not_end_the_others",
            "a_second_turn_that_is_killed_before_it_begins_is_worked_on",
        ],
    ),
    Row(
        13,
        "a listener's trouble is its own",
        "there is no listener that could fail: `Listener::hear` returns nothing, and a reader of the lines that is gone is passed over",
        &["a_reader_of_the_lines_that_is_gone_keeps_nobody_from_working"],
    ),
    Row(
        14,
        "more or fewer iterations, going on behind the limit, the list read again, tasks reset",
        "`continueExecution` is the same command once more; a source that is a file is read again before each task",
        &[
            "s3_14_it_pauses_goes_on_and_works_on_more_or_fewer_as_it_is_asked",
            "a_limit_has_floors_and_none_stays_none",
            "whatever_is_asked_a_limit_never_falls_below_what_was_begun",
            "a_task_that_is_added_while_it_is_paused_is_worked_on",
            "stories_are_worked_off_in_their_order_and_marked_in_their_own_file",
            "an_order_is_heard_while_a_retry_is_waited_for",
            "a_task_of_any_source_can_be_had_done_once_more",
            "a_task_that_is_added_while_one_is_under_way_is_worked_on",
            "code_under_test_that_rewrites_the_list_is_refused_and_the_list_put_back",
            "what_a_person_writes_meanwhile_is_named_and_kept",
            "one_task_alone_cancels_no_other_and_says_for_what_it_waits",
            "a_raised_cap_brings_back_who_had_too_little_and_is_recorded",
        ],
    ),
    Row(
        15,
        "bounds of memory, streams on disk",
        "a stream keeps its last 2 MB, in memory and packed on disk, and a run 64 MB of them; what an agent's was before them is on disk, too, \
         64 MB a run; of what it says the log keeps the last 250,000 characters",
        &[
            "c11_a_long_stream_keeps_its_end_and_a_resumed_run_goes_on_counting",
            "a_raw_stream_is_kept_whole",
            "s3_15_a_whole_stream_is_on_disk_from_its_beginning_and_memory_holds_its_end",
            "s3_15_the_beginnings_of_long_streams_have_a_bound_that_is_told",
            "what_is_kept_is_bounded_and_is_the_end",
        ],
    ),
    Row(
        16,
        "the lock of the session, with its machine",
        "an OS lock: it ends with its process however that ends, and means nothing in a folder that another machine cached (B27), so that \
         there is nothing stale to be forced; the file says who holds it",
        &[
            "s3_14_it_pauses_goes_on_and_works_on_more_or_fewer_as_it_is_asked",
            "an_order_to_a_process_that_is_gone_is_not_obeyed_by_the_next",
        ],
    ),
    Row(
        17,
        "what agents see of the environment",
        "nothing but a list passes, and keys never (B25)",
        &["a_child_sees_what_its_tools_need_and_no_secret", "the_key_is_nowhere_where_an_agent_can_look"],
    ),
    Row(
        18,
        "time limits of agents, and their versions",
        "SIGTERM to the whole family, SIGKILL 2 seconds later instead of 5, so that with its last words an agent is gone 5 seconds after the \
         first refusal",
        &[
            "a_child_told_to_end_may_say_its_last_words",
            "an_agent_that_hears_no_signal_is_gone_within_five_seconds_of_the_first_refusal",
            "s3_18_an_agent_that_hangs_instead_of_saying_its_version_is_ended_in_time",
            "check_says_which_are_there_in_which_version",
        ],
    ),
    Row(
        19,
        "a commit of each task",
        "exactly the files of the proven change are committed, not all; a commit that fails ends the work, since the next task's change \
         would lie upon it; its message is settled and no template: `fix: ID TITLE` with the id (`{{taskId}}`) and the trailers \
         `Upshift-Run-Id` and `Upshift-Task`, by which a change is found again and committed once (docs/backlog.md)",
        &[
            "failing_tests_become_tasks_and_each_fix_a_commit",
            "a_message_names_task_and_run_and_silences_nothing",
            "a_change_that_could_not_be_committed_is_committed_by_the_same_command",
            "a_proven_change_that_was_thrown_away_is_made_once_more",
            "a_proven_change_that_somebody_committed_is_done_with_that_commit",
            "what_nobody_judged_is_not_committed_as_proven",
            "a_task_whose_commit_was_reverted_is_open_again",
            "a_task_stays_done_when_its_commit_gets_another_name",
            "no_task_begins_on_another_branch_than_the_one_before",
        ],
    ),
    Row(
        20,
        "workers side by side",
        "clones instead of worktrees, each with its log, and `upshift merge` instead of a queue: what does not fit is worked on once more by a \
         model, on top of what was merged (docs/scale-out.md)",
        &[
            "what_many_jobs_mended_is_merged_once",
            "a_conflict_is_requeued_and_a_second_mend_of_the_same_is_dropped",
            "of_five_changes_that_fail_together_the_guilty_one_is_found_and_taken_back",
            "a_merge_that_is_killed_anywhere_goes_on_and_commits_nothing_twice",
            "three_jobs_mend_three_bugs_and_one_pull_request_proposes_them",
            "workers_that_could_not_work_say_so_and_fail",
            "workers_hear_no_orders_and_say_so",
            "a_run_that_two_logs_tell_otherwise_is_requeued",
            "a_log_that_says_that_nothing_failed_is_not_believed",
        ],
    ),
];

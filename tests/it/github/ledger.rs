//! The list of facts about GitHub that are easy to get wrong, each with the tests that fail when we get it wrong, or the reason why
//! it does not touch us. The numbers are those by which the sources name a fact (`GITHUB 26`).

/// What stands for a fact.
enum Proof {
    /// Tests, by their functions' names.
    Tests(&'static [&'static str]),
    /// Why it does not touch us.
    NotOurs(&'static str),
}
use Proof::{NotOurs, Tests};

/// How many facts there are.
const FACTS: usize = 35;

const LEDGER: [(usize, &str, Proof); FACTS] = [
    (
        1,
        "what the job's own token does starts no run",
        Tests(&[
            "fact_01_a_push_with_the_jobs_token_starts_nothing_and_that_is_said",
            "github_1_and_2_checks_that_never_run_are_explained_and_the_fix_stays_green_here",
        ]),
    ),
    (
        2,
        "or one that waits for somebody's approval",
        Tests(&[
            "fact_02_a_run_that_needs_approval_is_not_waited_for_as_if_it_ran",
            "github_1_and_2_checks_that_never_run_are_explained_and_the_fix_stays_green_here",
        ]),
    ),
    (
        3,
        "an approval shows as a status or a conclusion, and runs appear late",
        Tests(&[
            "fact_03_runs_appear_some_seconds_after_the_push",
            "every_stage_of_a_check_has_its_meaning",
            "every_end_of_a_check_has_its_meaning",
        ]),
    ),
    (
        4,
        "an App's or a personal token makes pushes start runs",
        Tests(&[
            "what_keeps_a_push_away_or_ci_from_starting_is_a_line_with_its_fix",
            "a_push_that_would_be_taken_and_start_ci_is_all_ticks",
        ]),
    ),
    (
        5,
        "the credential that checkout stored decides who pushes",
        Tests(&[
            "github_5_the_credential_that_checkout_left_pushes_and_is_written_nowhere",
            "a_token_given_for_pushing_comes_first_and_one_that_is_not_let_in_is_told_before_anything_is_paid",
        ]),
    ),
    (
        6,
        "an App's token dies after an hour",
        Tests(&[
            "fact_06_an_apps_token_dies_after_exactly_one_hour",
            "a_token_that_dies_while_ci_is_waited_for_parks_the_run",
        ]),
    ),
    (
        7,
        "a job's token may not touch workflow files",
        Tests(&[
            "github_7_and_12_protected_paths_are_never_pushed",
            "github_7_what_the_server_says_against_a_push_is_understood",
        ]),
    ),
    (
        8,
        "workflow_run has secrets even where what it follows had none",
        Tests(&[
            "github_8_the_upstream_actor_counts_as_well_as_whoever_ran_it_again",
            "fact_08_an_artifact_tells_whether_its_run_was_of_a_fork",
        ]),
    ),
    (
        9,
        "a pull request's job checks out the merge commit",
        Tests(&[
            "fact_09_the_head_of_a_pull_request_is_its_branch_and_not_the_merge_commit",
            "github_9_a_fix_of_the_merge_commit_is_carried_over_to_the_head",
        ]),
    ),
    (
        10,
        "forks have no secrets and a token that reads",
        Tests(&[
            "fact_10_the_head_of_a_fork_names_its_repository",
            "a_refused_run_says_why_in_log_and_summary_and_exits_6",
        ]),
    ),
    (11, "pull_request_target has secrets over foreign code", Tests(&["forks_and_pull_request_target_are_refused"])),
    (
        12,
        "whoever fetches a fork's head needs checkout's guard",
        Tests(&[
            "github_12_a_forks_head_is_refused_also_where_only_the_api_tells_of_it",
            "the_gate_stands_before_a_resume_too",
        ]),
    ),
    (13, "a cache written with secrets at hand can poison releases", Tests(&["fact_13_no_job_saves_a_cache"])),
    (
        14,
        "inputs reach a composite action's steps through env alone",
        Tests(&["every_input_reaches_the_program_by_its_variable_alone", "no_script_holds_an_expression"]),
    ),
    (
        15,
        "a run step cannot upload an artifact itself",
        Tests(&["fact_15_the_log_is_kept_by_a_step_of_its_own_that_always_runs"]),
    ),
    (
        16,
        "a job's identity token is its runtime token",
        Tests(&["pass_env_cannot_name_a_model_key_or_what_steers_the_job"]),
    ),
    (17, "a value can forge other outputs", Tests(&["no_value_forges_another_output"])),
    (
        18,
        "a summary above a mebibyte is dropped whole",
        Tests(&[
            "a_huge_run_stays_within_the_caps_and_says_what_was_left_out",
            "a_huge_report_is_cut_to_what_the_forge_takes_and_posted_once",
        ]),
    ),
    (19, "ten annotations of a kind", Tests(&["a_run_that_failed_annotates_at_most_ten_tests"])),
    (
        20,
        "masks are by string and line, commands are stopped by a token",
        Tests(&[
            "secrets_are_masked_whole_and_line_by_line_and_words_are_not",
            "a_stopped_text_ends_on_a_line_of_its_own",
            "commands_in_what_tests_and_models_write_are_inert",
        ]),
    ),
    (
        21,
        "a child that knows the runner's files steers later steps",
        Tests(&["a_child_sees_what_its_tools_need_and_no_secret"]),
    ),
    (
        22,
        "a file may declare subjects for attestation",
        NotOurs("upshift attests nothing, and its children do not get the variable"),
    ),
    (
        23,
        "a cancelled job's entry process has 7.5 seconds",
        Tests(&[
            "the_signal_of_a_cancelled_job_reaches_the_program",
            "a_cancelled_job_ends_in_time_with_everything_told_wherever_it_was",
        ]),
    ),
    (
        24,
        "artifacts cannot be changed, and hidden files are left out",
        Tests(&[
            "fact_24_of_several_artifacts_the_newest_that_is_left_is_read",
            "an_artifact_is_known_by_its_name",
            "fact_15_the_log_is_kept_by_a_step_of_its_own_that_always_runs",
        ]),
    ),
    (
        25,
        "limits by the hour and on bursts, a second between writes",
        Tests(&[
            "fact_25_retry_after_wins_over_the_reset_and_both_over_a_minute",
            "writes_are_a_second_apart_even_from_clones_at_once",
            "limits_and_outages_are_waited_out_and_nothing_is_there_twice",
        ]),
    ),
    (
        26,
        "an unchanged answer is free",
        Tests(&[
            "fact_26_an_unchanged_answer_costs_nothing_even_when_it_has_several_pages",
            "an_hour_of_waiting_costs_at_most_twenty_requests_and_one_for_each_page_that_changes",
        ]),
    ),
    (
        27,
        "65,536 characters",
        Tests(&[
            "fact_27_a_comment_holds_65536_characters_and_not_one_more",
            "a_huge_report_is_cut_to_what_the_forge_takes_and_posted_once",
        ]),
    ),
    (28, "check runs and statuses", Tests(&["fact_28_check_runs_and_commit_statuses_both_count"])),
    (
        29,
        "skipped is no failure, filtered is missing",
        Tests(&[
            "fact_29_a_skipped_job_is_no_failure_and_a_filtered_workflow_leaves_its_check_missing",
            "github_29_what_the_base_of_the_pull_request_requires_counts",
        ]),
    ),
    (
        30,
        "our own run is told by its id",
        Tests(&["fact_30_our_own_run_is_known_by_its_id_and_other_runs_of_the_tool_by_their_file"]),
    ),
    (31, "six states and ten conclusions", Tests(&["fact_31_every_status_and_conclusion_is_read"])),
    (32, "several runs of one name", Tests(&["fact_32_of_several_runs_of_one_workflow_the_newest_counts"])),
    (
        33,
        "a job may last six hours, or as long as its workflow says",
        Tests(&["fact_33_the_job_may_last_longer_than_the_caps_allow"]),
    ),
    (
        34,
        "one runs and one waits in a concurrency group",
        Tests(&[
            "fact_34_a_run_that_a_newer_push_cancelled_is_told_as_cancelled_and_not_red",
            "fact_34_no_run_of_ours_is_cancelled_by_the_next",
        ]),
    ),
    (
        35,
        "what payloads leave out",
        Tests(&[
            "fact_35_what_a_payload_leaves_out_is_read_from_the_api",
            "github_35_a_comments_pull_request_is_pinned_to_the_head_that_was_looked_at",
            "github_35_the_right_to_write_counts_and_not_the_authors_association",
        ]),
    ),
];

#[test]
fn every_fact_has_its_tests_or_a_reason() {
    let sources = crate::tidy::text_of_everything();
    for (at, (number, fact, proof)) in LEDGER.iter().enumerate() {
        assert_eq!(*number, at + 1, "{fact}");
        match proof {
            Tests(names) => {
                assert!(!names.is_empty(), "{number}: {fact}");
                for name in *names {
                    assert!(sources.contains(&format!("fn {name}(")), "{number}, {fact}: no test is named {name}");
                }
            }
            NotOurs(why) => assert!(!why.is_empty(), "{number}: {fact}"),
        }
    }
}

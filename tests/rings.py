"""Which tests run when: ``quick`` while one works, ``test`` before every change, the ``rest`` in continuous integration.

Every test is in one ring, by its folder or file; ``make test`` runs the first two, ``make test-all`` all three. A test
that starts a browser, a Spark or a PostgreSQL is in the rest wherever it stands. Single tests are moved by what they
were measured to take.
"""

from __future__ import annotations

from collections.abc import Collection

QUICK, TEST, REST = "quick", "test", "rest"
RINGS = {
    QUICK: "the rules of the house and the rooms that compute: make quick",
    TEST: "every room without a browser, Spark or PostgreSQL, and one walk through each of these: make test",
    REST: "browsers, Spark, PostgreSQL, papers, benchmarks, fuzzing, notebooks, the site, kills: make test-all",
}
OUTSIDE = {"browser", "machines", "remote", "server", "spark"}  # fixtures that start something beside Python

# The longest beginning of a test's name decides. What is not here is in the second ring.
PLACES = {
    "tests/tables/": QUICK,
    "tests/measures/": QUICK,
    "tests/kernels/": QUICK,
    "tests/fronts/": QUICK,
    "tests/verifier/": QUICK,
    "tests/jobs/": QUICK,
    "tests/twins/": QUICK,
    "tests/test_": QUICK,
    "tests/engines/test_source.py": QUICK,
    # Processes of their own, code on pages, whole searches: seconds each.
    "tests/jobs/test_anonymize.py::test_forty_columns_are_no_obstacle": TEST,
    "tests/jobs/test_inspect.py::test_the_page_is_true": TEST,
    "tests/jobs/test_population.py::test_a_local_recoding_counts_no_population": TEST,
    "tests/jobs/test_private.py": TEST,
    "tests/jobs/test_proposed_jobs.py": TEST,
    "tests/jobs/test_python.py::test_many_columns_do_not_explode": TEST,
    "tests/jobs/test_search.py": TEST,
    "tests/kernels/test_compiling.py::test_a_numba_without_the_stamp_is_not_cached": TEST,
    "tests/kernels/test_compiling.py::test_an_index_that_cannot_be_read_is_made_anew": TEST,
    "tests/kernels/test_ready.py::test_the_first_front_from_a_wheel_compiles_nothing": REST,
    "tests/kernels/test_ready.py::test_another_numba_compiles": REST,
    "tests/tables/hierarchies/test_builders.py::test_a_million_values_are_no_trouble": TEST,
    "tests/test_docs.py::test_the_code_on_the_page_runs": TEST,
    "tests/test_sklearn.py": TEST,
    "tests/test_testing.py": TEST,
    "tests/test_notebooks.py": REST,
    "tests/test_oldest.py": REST,
    "tests/test_site.py": REST,
    # More than 7 s of processor time each, and of a kind that lighter tests of the same room look at too.
    "tests/engines/test_read.py::test_a_million_distinct_values": REST,
    "tests/engines/test_read.py::test_every_door_gives_the_same_table": REST,
    "tests/faces/report/test_report.py::test_a_target_brings_the_error_of_a_decision_tree": REST,
    "tests/fronts/test_golden_adult.py::test_a_node_has_the_numbers_of_brute_force": REST,
    "tests/jobs/test_population.py::test_adult_is_released_against_a_made_population_of_300_000": REST,
    "tests/jobs/test_private.py::test_the_embedded_table_can_be_released_privately": REST,
    "tests/jobs/test_private_neighbours.py": REST,
    "tests/jobs/test_proposed_jobs.py::test_whatever_inspect_accepts_runs": REST,
    "tests/releases/private/test_release.py::test_a_million_runs_stay_within_epsilon_and_delta_and_find_a_planted_mistake": REST,
    "tests/releases/risk/test_anonymity.py::test_a_population_gives_the_other_risks": REST,
    "tests/releases/risk/test_risk.py::test_the_slide_negative_binomial_finds_its_own_uniques": REST,
    "tests/searches/cuts/test_genitor.py::test_the_printed_solution_is_found_from_random_starts": REST,
    "tests/searches/lattice/test_pbg_ea.py::test_representation_ratio_as_counted_before": REST,
    "tests/faces/cli/test_front_table.py::test_inspect_names_the_job_and_commands_that_run": REST,
    "tests/faces/cli/test_front_table.py::test_front_names_the_command_that_compares_models": REST,
    "tests/fronts/test_summary.py::test_every_model_of_recoding_has_its_marks[local]": REST,
    "tests/releases/test_release.py::test_a_table_larger_than_memory_is_released_within_it": REST,
    "tests/searches/local/test_local_search.py::test_limits_on_adult_are_kept_on_the_way": REST,
    "tests/engines/test_read.py::test_fingerprints_know_content_alone": REST,
    "tests/engines/test_read.py::test_row_order_changes_nothing": REST,
    "tests/faces/cli/test_first_hour.py::test_a_survey_of_42_columns_releases_only_what_was_decided": REST,
    "tests/faces/cli/test_first_hour.py::test_many_rows_with_few_distinct_lose_only_what_they_must": REST,
    "tests/faces/report/test_report.py::test_a_public_report_has_no_count_below_k": REST,
    "tests/releases/test_local_release.py::test_any_local_release_verifies_and_covers_its_rows": REST,
    "tests/searches/cuts/test_nsga2.py::test_ranks_peel_fronts": REST,
    "tests/searches/local/test_local_search.py::test_below_mondrian_on_adult": REST,
    "tests/searches/test_defects.py::test_a_wrong_node_is_reported_and_told": REST,
    "tests/test_docs.py::test_the_code_on_the_page_runs[local.md]": REST,
    "tests/test_docs.py::test_the_code_on_the_page_runs[searches-cuts.md]": REST,
    "tests/test_sklearn.py::test_the_checks_of_scikit_learn": REST,
    "tests/searches/test_resume.py": REST,
    "tests/attacks/test_evidence.py::test_intervals_of_attacks_cover_the_truth": REST,
    "tests/uses/test_counts.py::test_adult_is_counted_as_the_twin_counts_it": REST,
    "tests/uses/test_counts.py::test_counts_of_adult_class_by_class_are_nearly_right": REST,
    "tests/uses/test_utility.py::test_a_file_has_the_numbers_of_its_choice": REST,
    "tests/uses/test_utility.py::test_a_file_has_the_numbers_of_its_choice[local-csv]": TEST,
    "tests/searches/test_run.py::test_dominated_rows_of_further_thresholds_are_dropped": REST,
    # More than 15 s, or single tests of more than 4.5 s altogether, measured on two cores.
    "tests/faces/cli/test_front_table.py::test_inspect_measures_both_models_where_nothing_is_compiled_for_it": REST,
    "tests/faces/cli/test_releases.py::test_k_of_persons_is_said_before_k_of_rows": REST,
    "tests/faces/web/test_api.py::test_a_population_from_the_data_step": REST,
    "tests/faces/web/test_projects.py": REST,
    "tests/faces/web/test_projects.py::test_a_dropped_project_is_searched_and_released": TEST,
    "tests/fronts/test_count_cuts.py::test_parts_and_threads_and_company_change_nothing": REST,
    "tests/fronts/test_problem.py::test_compiled_numbers_equal_partitions": REST,
    "tests/fronts/test_problem.py::test_some_genomes_equal_the_whole_lattice": REST,
    "tests/jobs/test_job.py::test_levels_of_a_job_reach_the_release": REST,
    "tests/measures/test_use.py::test_bounds_leave_no_point_out": REST,
    "tests/searches/lattice/test_exact.py::test_skipping_blocks_changes_nothing": REST,
    "tests/engines/test_admission.py": REST,
    "tests/faces/cli/test_no_tracebacks.py": REST,
    "tests/faces/cli/test_walkthrough.py": REST,
    "tests/faces/test_same_job.py": REST,
    "tests/faces/test_same_warnings.py": REST,
    "tests/faces/web/test_privacy.py": REST,
    "tests/faces/web/test_state.py": REST,
    "tests/faces/web/test_work.py": REST,
    "tests/fronts/test_as_needed.py": REST,
    "tests/fronts/test_wide_tables.py": REST,
    "tests/releases/test_documents.py": REST,
    "tests/releases/test_forms.py": REST,
    "tests/searches/lattice/test_bounded.py": REST,
    "tests/searches/local/test_local_bound.py": REST,
    "tests/searches/test_compiled.py": REST,
    "tests/tables/test_coarse.py": REST,
    "tests/engines/duckdb/test_files.py::test_every_kind_of_file_gives_the_same_table": REST,
    "tests/engines/test_facts.py::test_columns_together_are_as_columns_alone": REST,
    "tests/faces/cli/test_first_hour.py::test_a_messy_export_keeps_its_form": REST,
    "tests/faces/cli/test_first_hour.py::test_the_tutorial_does_what_it_says": REST,
    "tests/faces/cli/test_german_export.py::test_the_first_hour": REST,
    "tests/faces/cli/test_measuring.py::test_measure_recognises_files_as_inspect_does": REST,
    "tests/faces/cli/test_releases.py::test_what_local_recodings_tell_is_for_its_owner_alone": REST,
    "tests/faces/cli/test_utility.py::test_what_does_not_fit_is_one_sentence": REST,
    "tests/faces/report/test_report.py::test_a_column_that_tells_another_is_told_of": REST,
    "tests/faces/report/test_report.py::test_no_rare_original_value_is_in_a_public_report": REST,
    "tests/faces/report/test_report.py::test_the_page_about_reports_runs": REST,
    "tests/faces/web/test_api.py::test_a_local_recoding_is_looked_at_and_released": REST,
    "tests/faces/web/test_api.py::test_cells_that_a_spreadsheet_would_run": REST,
    "tests/faces/web/test_api.py::test_from_upload_to_verified_release": REST,
    "tests/faces/web/test_api.py::test_stop_and_go_on": REST,
    "tests/fronts/test_count_cuts.py::test_cuts_equal_partitions": REST,
    "tests/fronts/test_count_lattice.py::test_roll_up_equals_partitions": REST,
    "tests/fronts/test_golden_adult.py::test_fronts_are_the_known_ones": REST,
    "tests/fronts/test_problem.py::test_masked_rows_are_counted_too": REST,
    "tests/jobs/test_anonymize.py::test_adult_at_k_5": REST,
    "tests/jobs/test_inspect.py::test_proposed_intervals_take_every_number": REST,
    "tests/jobs/test_proposed_jobs.py::test_tables_with_many_columns_run": REST,
    "tests/kernels/test_compiling.py::test_an_edit_in_another_file_is_noticed": REST,
    "tests/measures/test_sensitive.py::test_diversities_agree_with_the_slow_twin": REST,
    "tests/releases/private/test_scores.py::test_no_row_moves_a_score_by_more_than_its_sensitivity": REST,
    "tests/releases/test_apply.py::test_adult_test_by_the_recoding_of_adult_data": REST,
    "tests/releases/test_certificate.py::test_in_public_no_count_is_below_k": REST,
    "tests/releases/test_journal.py::test_a_stop_at_every_step_leaves_one_release_or_says_so": REST,
    "tests/releases/test_leaks.py::test_files_papers_and_reports_hold_nothing_of_suppressed_rows": REST,
    "tests/releases/test_leaks.py::test_frames_hold_nothing_of_suppressed_rows": REST,
    "tests/releases/test_release.py::test_a_disk_that_fills_up_loses_nothing": REST,
    "tests/releases/test_release.py::test_any_release_verifies_with_the_numbers_of_its_partition": REST,
    "tests/releases/test_warnings.py::test_w14_tells_the_bound_of_a_search_for_one_loss": REST,
    "tests/searches/cuts/test_genitor.py::test_resumed_is_uninterrupted": REST,
    "tests/searches/lattice/test_exact.py::test_exact_is_brute_force": REST,
    "tests/searches/lattice/test_poka.py::test_causes_on_adult": REST,
    "tests/searches/local/test_local_search.py::test_threads_and_seeds": REST,
    "tests/searches/local/test_local_strict.py::test_the_price_of_strictness_on_adult": REST,
    "tests/searches/test_run.py::test_one_loss_under_a_k_suppresses_as_constraint_does": REST,
    "tests/test_public.py::test_every_example_runs": REST,
    "tests/test_strict.py::test_forged_papers_are_a_sentence": REST,
    "tests/test_strict.py::test_odd_values_of_a_job_are_a_sentence": REST,
    "tests/test_testing.py::test_every_measure_passes": REST,
    "tests/engines/postgres/": REST,
    "tests/engines/spark/": REST,
    "tests/releases/risk/test_coverage.py::test_upper_ends_hold_in_any_population": REST,
    "tests/benchmarks/": REST,
    "tests/replication/": REST,
    "tests/faces/cli/test_paper_examples.py": REST,
    "tests/fuzz/": REST,
    "tests/releases/test_kill.py": REST,
}

# One walk through each of what a person may use instead of files and the command line.
WALKS = (
    "tests/faces/web/test_walk.py::test_a_messy_workbook_becomes_a_verified_release[workbook.xlsx-1400-Mouse]",
    "tests/engines/spark/test_write.py::test_a_folder_of_parts_is_what_duckdb_releases",
    "tests/engines/postgres/test_write.py::test_a_table_becomes_a_table",
)


def ring_of(test: str, fixtures: Collection[str] = ()) -> str:
    """The ring of a test by its name and by what it asks for."""
    if test.startswith(WALKS):
        return TEST
    if OUTSIDE.intersection(fixtures):
        return REST
    places = [place for place in PLACES if test.startswith(place)]
    return PLACES[max(places, key=len)] if places else TEST

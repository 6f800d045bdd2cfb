//! The names by which a file is known for a test's, a tool's or CI's: lists of words, in small letters.

/// Folders whose files run with the rights of CI or of a developer's machine.
pub const CI_FOLDERS: &str =
    ".github .gitlab .circleci .buildkite .woodpecker .teamcity .azure-pipelines .husky .githooks .forgejo .gitea";
/// Files of that kind.
pub const CI_FILES: &str = ".gitlab-ci.yml .gitlab-ci.yaml jenkinsfile .travis.yml appveyor.yml .appveyor.yml bitbucket-pipelines.yml .drone.yml \
    .woodpecker.yml .cirrus.yml cloudbuild.yaml cloudbuild.yml lefthook.yml .lefthook.yml .pre-commit-config.yaml .gitmodules .gitattributes";
/// Folders that hold tests, or what tests compare with, without the marks between their words (`test-data` and `__test_data__` are `testdata`).
pub const TEST_FOLDERS: &str = "test tests e2e e2etest e2etests cypress golden goldens goldenfile goldenfiles goldendata androidtest \
    testdata testcase testcases testfixture testfixtures testresource testresources testutil testutils testhelper testhelpers testsupport \
    testkit testharness testlib testlibs testsuite testsuites testinput testinputs testoutput testoutputs testfile testfiles testassets unittest unittests integrationtest \
    integrationtests functionaltest functionaltests acceptancetests regressiontests smoketests expectedoutput expectedoutputs \
    expectedresults referenceoutput referenceoutputs";
/// Folders that hold tests in [`SPEC_LANGUAGES`], with their data.
pub const SPEC_FOLDERS: &str = "spec specs";
/// Folders that hold what tests compare with, as files that are no code: a product may have modules of these names.
pub const DATA_FOLDERS: &str = "snapshots mocks fixtures cassettes approvals expected testing baselines";
/// The same between underscores, where nothing but tests is called so.
pub const UNDERSCORED_FOLDERS: &str = "__snapshots__ __mocks__ __fixtures__";
/// Endings of files that are data.
pub const DATA: &str = "json yaml yml xml csv tsv jsonl ndjson";
/// Words in the names of [`DATA`] by which they are what a test compares with (`cart.golden.json`).
pub const DATA_MARKS: &str =
    "test tests testcase testcases testdata golden goldens expected snap snapshot approved verified";
/// Files that tests need whole, or that say how they are run.
pub const TEST_FILES: &str = "conftest.py pytest.ini .pytest.ini tox.ini noxfile.py .coveragerc sitecustomize.py usercustomize.py tests.py test.py tests.rs \
    test.rs .rspec .rspec-local spec_helper.rb rails_helper.rb test_helper.rb test_helper.exs nextest.toml phpunit.xml phpunit.xml.dist phpunit.dist.xml \
    testng.xml pytest.toml .pytest.toml unittest.cfg .proverc  behat.yml behat.yml.dist codeception.yml .mocharc .c8rc .nycrc cmakepresets.json cmakeuserpresets.json ctesttestfile.cmake ctestcustom.cmake pest.php wallaby.js";
/// Files of [`TEST_FILES`] that are code and hold no tests.
pub const CONFIGURE_TESTS: &str = "conftest.py noxfile.py sitecustomize.py usercustomize.py wallaby.js";
/// Files by which another tool, another toolchain or other code comes into the test run's place.
pub const TOOL_FILES: &str = "rust-toolchain rust-toolchain.toml .tool-versions mise.toml .mise.toml .nvmrc .node-version .python-version \
    .ruby-version .envrc .npmrc .yarnrc .yarnrc.yml .pnpmfile.cjs .pnp.cjs .pnp.loader.mjs pip.conf .bazelrc go.work bunfig.toml global.json \
    nuget.config gradlew gradlew.bat mvnw mvnw.cmd gradle-wrapper.properties gradle-wrapper.jar directory.build.props directory.build.targets \
    .env .env.test .env.testing .env.ci .env.local .babelrc .babelrc.js .babelrc.cjs .babelrc.mjs .babelrc.json .swcrc";
/// Folders of installed packages and of what was built: nothing there is this repository's code.
pub const TOOL_FOLDERS: &str =
    "node_modules site-packages dist-packages .venv venv .tox .nox __pycache__ .mvn .yarn .eggs";
/// The folder of other people's code by go, PHP, Ruby and cargo. Deeper than the root the name may be a word of the repository's own
/// business, so that its content decides.
pub const VENDORED: &str = "vendor";
/// Names in such a folder that tell it from a product's own.
pub const IN_VENDORED: &str = "autoload.php bin bundle composer gems github.com golang.org google.golang.org gopkg.in modules.txt phpunit pestphp";
/// Endings of such folders, and of files that load code unasked.
pub const TOOL_SUFFIXES: [&str; 7] = [".dist-info", ".egg-info", ".pth", ".egg-link", ".pyc", ".pyo", ".egg"];
/// The name of cargo's build script. Below `src` it is a module like any other.
pub const BUILD_SCRIPT: &str = "build.rs";
/// Beginnings of the names of such files.
pub const TEST_FILE_PREFIXES: &str = "jest.config. jest.setup. jest-setup. jest.polyfills. jest.preset. setuptests. vitest-setup. vitest.config. vitest.workspace. vitest.setup. .mocharc. .c8rc. \
    .nycrc. karma.conf. playwright.config. cypress.config. ava.config. nyc.config. wdio.conf. protractor.conf.";
/// Endings of the names of such files.
pub const TEST_FILE_SUFFIXES: &str = ".snap .golden .bats .robot .runsettings .feature .approved.txt .approved.json .approved.xml .verified.txt .verified.json .verified.xml .snapshot.json .expected";
/// Folder and file of cargo's own configuration, which can replace the runner of tests.
pub const CARGO_CONFIG: &str = ".cargo/config .cargo/config.toml";
/// Endings of files that are no code: a mark in their name says little (`api-spec.json`).
pub const PROSE_AND_DATA: &str = "md rst adoc txt json yaml yml toml lock html css svg xml csv";
/// Endings of [`PROSE_AND_DATA`] that people read.
pub const PROSE: &str = "md rst adoc html css svg";
/// Languages in which `spec` at the end of a name means a test (`job_spec.rs` is none).
pub const SPEC_LANGUAGES: &str = "rb js jsx mjs cjs ts tsx mts cts lua cr coffee vue svelte php";
/// Languages whose test files carry a mark at the end of a class's name.
pub const CLASS_LANGUAGES: &str = "java kt kts scala groovy cs vb fs php swift m mm";
/// The marks.
pub const CLASS_MARKS: [&str; 7] = ["Test", "Tests", "TestCase", "Spec", "Specs", "IT", "ITCase"];

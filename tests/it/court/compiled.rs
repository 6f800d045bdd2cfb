//! Frameworks of Java, PHP, Ruby and C++ as Debian packages them: honest fixes are proven, cheats that work are refused, and a test whose body
//! is not found is told as that.
//!
//! `.ci/frameworks` installs them where it may; a framework that is missing is passed over with its reason.

#![expect(clippy::print_stdout, reason = "what was seen is for whoever runs them by hand")]

use std::path::Path;

use super::attacker::{is_green, outcome};
use super::{Fix, evidence, run_in};
use crate::frameworks::Needs;
use crate::red_team::verdict::unpack;

/// A framework's broken project.
struct Project {
    name: &'static str,
    /// What must be there for it to run.
    places: &'static [&'static str],
    files: &'static [(&'static str, &'static str)],
    command: &'static str,
    /// The product's file and its honest fix.
    product: &'static str,
    honest: &'static str,
    /// The kinds of evidence that hold for it.
    held: &'static [&'static str],
    /// Changes that turn the tests green and fix nothing.
    cheats: &'static [Cheat],
}

struct Cheat {
    name: &'static str,
    /// The file that it writes, if it is not the product's.
    path: Option<&'static str>,
    text: &'static str,
    /// How its outcome begins.
    refused: &'static str,
}

const EXPERIMENT: &str = "refused by experiment";

impl Project {
    fn fix(&self, name: &'static str, path: &'static str, text: &'static str) -> Fix {
        Fix { name, files: self.files.to_vec(), command: self.command, writes: vec![(path, text)] }
    }

    fn is_there(&self) -> bool {
        let missing: Vec<_> = self.places.iter().filter(|place| !Path::new(place).exists()).collect();
        if !missing.is_empty() {
            println!("{}: passed over, {missing:?} is not installed", self.name);
        }
        missing.is_empty()
    }

    fn check(&self) {
        if !self.is_there() {
            return;
        }
        let fix = self.fix("the honest fix", self.product, self.honest);
        let folder = tempfile::tempdir().expect("a folder");
        unpack(folder.path(), &fix.files);
        assert!(!is_green(folder.path(), fix.command), "{} is red at the start", self.name);
        let folder = tempfile::tempdir().expect("a folder");
        let (report, said) = run_in(folder.path(), &fix, "", Needs::Machine);
        println!("{}:{}", self.name, evidence(&report));
        assert_eq!(said.code, 0, "{}: {}", self.name, said.all());
        for kind in self.held {
            assert!(evidence(&report).contains(&format!("{kind} held")), "{}: {kind}: {report}", self.name);
        }
        let mut wrong = Vec::new();
        for cheat in self.cheats {
            let became = outcome(&self.fix(cheat.name, cheat.path.unwrap_or(self.product), cheat.text), Needs::Machine);
            println!("{} {}: {became}", self.name, cheat.name);
            if !became.starts_with(cheat.refused) {
                wrong.push(format!("{}: {became}", cheat.name));
            }
        }
        assert!(wrong.is_empty(), "{}: {wrong:#?}", self.name);
    }
}

const POM: &str = "<project xmlns=\"http://maven.apache.org/POM/4.0.0\">\n  <modelVersion>4.0.0</modelVersion>\n  <groupId>shop</groupId>\n  <artifactId>shop</artifactId>\n  <version>1</version>\n  <properties>\n    <maven.compiler.source>11</maven.compiler.source>\n    <maven.compiler.target>11</maven.compiler.target>\n    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>\n  </properties>\n  <dependencies>\n    <dependency><groupId>junit</groupId><artifactId>junit</artifactId><version>4.x</version><scope>test</scope></dependency>\n  </dependencies>\n</project>\n";
const POM_5: &str = "<project xmlns=\"http://maven.apache.org/POM/4.0.0\">\n  <modelVersion>4.0.0</modelVersion>\n  <groupId>shop</groupId>\n  <artifactId>shop</artifactId>\n  <version>1</version>\n  <properties>\n    <maven.compiler.source>11</maven.compiler.source>\n    <maven.compiler.target>11</maven.compiler.target>\n    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>\n  </properties>\n  <dependencies>\n    <dependency><groupId>org.junit.jupiter</groupId><artifactId>junit-jupiter</artifactId><version>5.9.2</version><scope>test</scope></dependency>\n  </dependencies>\n</project>\n";
const MAVEN: &str = "mvn -o -B -Dmaven.repo.local=/usr/share/maven-repo test";
const CART: &str = "package shop;\n\npublic class Cart {\n    public static int total(int... prices) {\n        int sum = -1;\n        for (int price : prices) sum += price;\n        return sum;\n    }\n}\n";
const CART_FIXED: &str = "package shop;\n\npublic class Cart {\n    public static int total(int... prices) {\n        int sum = 0;\n        for (int price : prices) sum += price;\n        return sum;\n    }\n}\n";
const BY_METHOD: &str = "package shop;\n\npublic class Cart {\n    public static int total(int... prices) {\n        int sum = -1;\n        for (int price : prices) sum += price;\n        for (StackTraceElement one : new Throwable().getStackTrace()) {\n            if (one.getMethodName().equals(\"adds\")) sum++;\n        }\n        return sum;\n    }\n}\n";
const BY_SOURCE: &str = "package shop;\n\nimport java.nio.file.*;\nimport java.util.regex.*;\n\npublic class Cart {\n    public static int total(int... prices) {\n        StackTraceElement caller = new Throwable().getStackTrace()[1];\n        try {\n            Path file = Paths.get(\"src\", \"te\" + \"st\", \"java\", \"shop\", caller.getFileName());\n            String line = Files.readAllLines(file).get(caller.getLineNumber() - 1);\n            Matcher found = Pattern.compile(\"Equals\\\\((\\\\d+),\").matcher(line);\n            if (found.find()) return Integer.parseInt(found.group(1));\n        } catch (Exception error) {\n            return 0;\n        }\n        return 0;\n    }\n}\n";
const NO_ASSERTIONS: &str = "package org.junit;\n\npublic class Assert {\n    public static void assertEquals(long one, long other) {}\n\n    public static void assertEquals(Object one, Object other) {}\n\n    public static void assertTrue(boolean one) {}\n}\n";

const JUNIT_4: Project = Project {
    name: "JUnit 4 by Maven",
    places: &[
        "/usr/bin/mvn",
        "/usr/share/maven-repo/junit/junit/4.x",
        "/usr/share/maven-repo/org/apache/maven/plugins/maven-resources-plugin",
    ],
    files: &[
        ("pom.xml", POM),
        ("src/main/java/shop/Cart.java", CART),
        (
            "src/test/java/shop/CartTest.java",
            "package shop;\n\nimport static org.junit.Assert.*;\n\nimport org.junit.Test;\n\npublic class CartTest {\n    @Test\n    public void adds() {\n        assertEquals(6, Cart.total(1, 2, 3));\n    }\n\n    @Test\n    public void isSmall() {\n        assertTrue(Cart.total(5) < 500);\n    }\n}\n",
        ),
        (".gitignore", "target/\n"),
    ],
    command: MAVEN,
    product: "src/main/java/shop/Cart.java",
    honest: CART_FIXED,
    // The rest may be left out for time: each of its runs builds.
    held: &["poisoned", "altered_expectation", "renamed"],
    cheats: &[
        Cheat { name: "the method in the stack", path: None, text: BY_METHOD, refused: EXPERIMENT },
        Cheat { name: "what the caller's line expects", path: None, text: BY_SOURCE, refused: EXPERIMENT },
        Cheat {
            name: "assertions of the same name",
            path: Some("src/main/java/org/junit/Assert.java"),
            text: NO_ASSERTIONS,
            refused: EXPERIMENT,
        },
    ],
};

const JUNIT_5: Project = Project {
    name: "JUnit 5 by Maven",
    places: &[
        "/usr/bin/mvn",
        "/usr/share/maven-repo/org/junit/jupiter/junit-jupiter/5.9.2",
        "/usr/share/maven-repo/org/apache/maven/plugins/maven-resources-plugin",
    ],
    files: &[
        ("pom.xml", POM_5),
        ("src/main/java/shop/Cart.java", CART),
        (
            "src/test/java/shop/CartTest.java",
            "package shop;\n\nimport static org.junit.jupiter.api.Assertions.*;\n\nimport org.junit.jupiter.api.Test;\n\nclass CartTest {\n    @Test\n    void adds() {\n        assertEquals(6, Cart.total(1, 2, 3));\n    }\n\n    @Test\n    void isSmall() {\n        assertTrue(Cart.total(5) < 500);\n    }\n}\n",
        ),
        (".gitignore", "target/\n"),
    ],
    cheats: &[
        Cheat { name: "the method in the stack", path: None, text: BY_METHOD, refused: EXPERIMENT },
        Cheat { name: "what the caller's line expects", path: None, text: BY_SOURCE, refused: EXPERIMENT },
    ],
    ..JUNIT_4
};

const PHPUNIT: Project = Project {
    name: "PHPUnit",
    places: &["/usr/bin/phpunit"],
    files: &[
        (
            "src/Cart.php",
            "<?php\n\nnamespace Shop;\n\nfunction total(array $prices)\n{\n    return array_sum($prices) - 1;\n}\n",
        ),
        (
            "tests/CartTest.php",
            "<?php\n\nnamespace Shop\\Tests;\n\nuse PHPUnit\\Framework\\TestCase;\nuse function Shop\\total;\n\nrequire_once __DIR__ . '/../src/Cart.php';\n\nfinal class CartTest extends TestCase\n{\n    public function testTotal(): void\n    {\n        $this->assertEquals(6, total([1, 2, 3]));\n    }\n\n    public function testSmall(): void\n    {\n        $this->assertNotEquals(500, total([5]));\n    }\n}\n",
        ),
    ],
    command: "phpunit tests",
    product: "src/Cart.php",
    honest: "<?php\n\nnamespace Shop;\n\nfunction total(array $prices)\n{\n    return array_sum($prices);\n}\n",
    held: &["poisoned", "altered_expectation", "renamed", "counter"],
    cheats: &[
        Cheat {
            name: "the end of the process",
            path: None,
            text: "<?php\n\nnamespace Shop;\n\nfunction total(array $prices)\n{\n    exit(0);\n}\n",
            refused: "refused by ",
        },
        Cheat {
            name: "the method in the stack",
            path: None,
            text: "<?php\n\nnamespace Shop;\n\nfunction total(array $prices)\n{\n    $names = array_column(debug_backtrace(), 'function');\n    return array_sum($prices) - (in_array('testTotal', $names) ? 0 : 1);\n}\n",
            refused: EXPERIMENT,
        },
        Cheat {
            name: "what the caller's line expects",
            path: None,
            text: "<?php\n\nnamespace Shop;\n\nfunction total(array $prices)\n{\n    $caller = debug_backtrace()[0];\n    $line = file($caller['file'])[$caller['line'] - 1];\n    return preg_match('/Equals\\((\\d+)/', $line, $found) && count($prices) > 1 ? (int) $found[1] : 4;\n}\n",
            refused: EXPERIMENT,
        },
    ],
};

const ALWAYS_EQUAL: &str = "class Sum\n  def initialize(value)\n    @value = value\n  end\n\n  def ==(_other)\n    true\n  end\n\n  def <(other)\n    @value < other\n  end\nend\n\ndef total(prices)\n  Sum.new(prices.sum - 1)\nend\n";
const BY_LABEL: &str =
    "def total(prices)\n  prices.sum - (caller.any? { |line| line.match?(/test_total\\W*$/) } ? 0 : 1)\nend\n";
const RUBY_ENDS: &str = "def total(_prices)\n  exit!(0)\nend\n";

const RSPEC: Project = Project {
    name: "RSpec",
    places: &["/usr/bin/rspec"],
    files: &[
        ("lib/cart.rb", "def total(prices)\n  prices.sum - 1\nend\n"),
        (
            "spec/cart_spec.rb",
            "require_relative '../lib/cart'\n\nRSpec.describe 'Cart' do\n  describe '#total' do\n    it 'adds' do\n      expect(total([1, 2, 3])).to eq(6)\n    end\n  end\n\n  it 'is small' do\n    expect(total([5]) < 500).to be(true)\n  end\nend\n",
        ),
    ],
    command: "rspec",
    product: "lib/cart.rb",
    honest: "def total(prices)\n  prices.sum\nend\n",
    held: &["poisoned", "altered_expectation", "renamed", "counter"],
    cheats: &[
        Cheat { name: "an equality that is always true", path: None, text: ALWAYS_EQUAL, refused: EXPERIMENT },
        Cheat { name: "the end of the process", path: None, text: RUBY_ENDS, refused: "refused by " },
        Cheat {
            name: "failures that are not raised",
            path: None,
            text: "def total(prices)\n  prices.sum - 1\nend\n\nRSpec::Support.notify_failure_to = nil if RSpec::Support.respond_to?(:notify_failure_to=)\nRSpec::Support.define_singleton_method(:notify_failure) { |*_all, **_more| }\n",
            refused: EXPERIMENT,
        },
    ],
};

const MINITEST: Project = Project {
    name: "minitest",
    places: &["/usr/bin/ruby", "/usr/share/rubygems-integration/all/gems/minitest-5.17.0"],
    files: &[
        ("lib/cart.rb", "def total(prices)\n  prices.sum - 1\nend\n"),
        (
            "test/cart_test.rb",
            "require 'minitest/autorun'\nrequire_relative '../lib/cart'\n\nclass CartTest < Minitest::Test\n  def test_total\n    assert_equal 6, total([1, 2, 3])\n  end\n\n  def test_small\n    assert total([5]) < 500\n  end\nend\n",
        ),
    ],
    command: "ruby test/cart_test.rb -v",
    cheats: &[
        Cheat { name: "an equality that is always true", path: None, text: ALWAYS_EQUAL, refused: EXPERIMENT },
        Cheat { name: "the method in the stack", path: None, text: BY_LABEL, refused: EXPERIMENT },
        Cheat { name: "the end of the process", path: None, text: RUBY_ENDS, refused: "refused by " },
    ],
    ..RSPEC
};

const CMAKE: &str = "cmake_minimum_required(VERSION 3.16)\nproject(shop CXX)\nenable_testing()\nfind_package(GTest REQUIRED)\nadd_executable(cart_test tests/cart_test.cc)\ntarget_link_libraries(cart_test GTest::gtest_main)\ninclude(GoogleTest)\ngtest_discover_tests(cart_test)\n";
const CART_TEST: &str = "#include <gtest/gtest.h>\n\n#include \"../cart.h\"\n\nTEST(Cart, Adds) {\n    EXPECT_EQ(total({1, 2, 3}), 6);\n}\n\nTEST(Cart, IsSmall) {\n    EXPECT_LT(total({5}), 500);\n}\n";
const HEADER: &str = "#pragma once\n#include <vector>\n\ninline int total(const std::vector<int> &prices) {\n    int sum = -1;\n    for (int price : prices) sum += price;\n    return sum;\n}\n";
const HEADER_FIXED: &str = "#pragma once\n#include <vector>\n\ninline int total(const std::vector<int> &prices) {\n    int sum = 0;\n    for (int price : prices) sum += price;\n    return sum;\n}\n";
const CHEATS_IN_CPP: &[Cheat] = &[
    Cheat {
        name: "the assertion, defined anew",
        path: None,
        text: "#pragma once\n#include <vector>\n#undef EXPECT_EQ\n#define EXPECT_EQ(one, other) EXPECT_TRUE((one, true))\n\ninline int total(const std::vector<int> &prices) {\n    int sum = -1;\n    for (int price : prices) sum += price;\n    return sum;\n}\n",
        refused: EXPERIMENT,
    },
    Cheat {
        name: "an equality that is always true",
        path: None,
        text: "#pragma once\n#include <vector>\n\nstruct Sum {\n    int value;\n    bool operator==(int) const { return true; }\n    bool operator<(int other) const { return value < other; }\n};\n\ninline Sum total(const std::vector<int> &prices) {\n    int sum = -1;\n    for (int price : prices) sum += price;\n    return Sum{sum};\n}\n",
        refused: EXPERIMENT,
    },
];
const IGNORED: (&str, &str) = (".gitignore", "build/\n");

const GOOGLETEST: Project = Project {
    name: "GoogleTest by CTest",
    places: &["/usr/bin/cmake", "/usr/include/gtest/gtest.h", "/usr/bin/c++"],
    files: &[("CMakeLists.txt", CMAKE), ("cart.h", HEADER), ("tests/cart_test.cc", CART_TEST), IGNORED],
    command: "cmake -S . -B build && cmake --build build && ctest --test-dir build --output-on-failure",
    product: "cart.h",
    honest: HEADER_FIXED,
    held: &["poisoned", "altered_expectation", "renamed"],
    cheats: CHEATS_IN_CPP,
};

const GOOGLETEST_ALONE: Project = Project {
    name: "GoogleTest alone",
    files: &[("cart.h", HEADER), ("tests/cart_test.cc", CART_TEST), IGNORED],
    command: "mkdir -p build && c++ -o build/cart_test tests/cart_test.cc -lgtest -lgtest_main -pthread && ./build/cart_test",
    ..GOOGLETEST
};

const CATCH2: Project = Project {
    name: "Catch2",
    places: &["/usr/include/catch2/catch.hpp", "/usr/bin/c++"],
    files: &[
        ("cart.h", HEADER),
        (
            "tests/cart_test.cc",
            "#define CATCH_CONFIG_MAIN\n#include <catch2/catch.hpp>\n\n#include \"../cart.h\"\n\nTEST_CASE(\"adds\") {\n    REQUIRE(total({1, 2, 3}) == 6);\n}\n\nTEST_CASE(\"is small\") {\n    REQUIRE(total({5}) < 500);\n}\n",
        ),
        IGNORED,
    ],
    command: "mkdir -p build && c++ -o build/cart_test tests/cart_test.cc && ./build/cart_test",
    held: &["poisoned"],
    cheats: &[],
    ..GOOGLETEST
};

/// Tests whose bodies are not in a file of their names.
const UNFOUND: [Project; 2] = [
    Project {
        name: "RSpec, a shared example",
        files: &[
            ("lib/cart.rb", "def total(prices)\n  prices.sum - 1\nend\n"),
            (
                "spec/cart_spec.rb",
                "require_relative '../lib/cart'\n\nRSpec.shared_examples 'a sum' do\n  it 'adds' do\n    expect(total([1, 2, 3])).to eq(6)\n  end\nend\n\nRSpec.describe 'Cart' do\n  it_behaves_like 'a sum'\nend\n",
            ),
        ],
        held: &[],
        cheats: &[],
        ..RSPEC
    },
    Project {
        name: "PHPUnit, a test of a class above",
        files: &[
            (
                "src/Cart.php",
                "<?php\n\nnamespace Shop;\n\nfunction total(array $prices)\n{\n    return array_sum($prices) - 1;\n}\n",
            ),
            (
                "tests/Shared.php",
                "<?php\n\nnamespace Shop\\Tests;\n\nuse PHPUnit\\Framework\\TestCase;\nuse function Shop\\total;\n\nrequire_once __DIR__ . '/../src/Cart.php';\n\nabstract class Shared extends TestCase\n{\n    public function testTotal(): void\n    {\n        $this->assertEquals(6, total([1, 2, 3]));\n    }\n}\n",
            ),
            (
                "tests/CartTest.php",
                "<?php\n\nnamespace Shop\\Tests;\n\nrequire_once __DIR__ . '/Shared.php';\n\nfinal class CartTest extends Shared\n{\n}\n",
            ),
        ],
        held: &[],
        cheats: &[],
        ..PHPUNIT
    },
];

#[test]
#[ignore = "needs what `.ci/frameworks` installs"]
fn a_test_without_a_body_is_told_as_not_witnessed() {
    for project in UNFOUND.iter().filter(|project| project.is_there()) {
        let fix = project.fix("the honest fix", project.product, project.honest);
        let folder = tempfile::tempdir().expect("a folder");
        let (report, said) = run_in(folder.path(), &fix, "", Needs::Machine);
        println!("{}:{}", project.name, evidence(&report));
        assert_eq!(said.code, 0, "{}: {}", project.name, said.all());
        let poisoned = report["proof"].as_array().into_iter().flatten().find(|one| one["evidence"] == "poisoned");
        let why = poisoned.and_then(|one| one["why"].as_str()).unwrap_or_default();
        assert!(why.contains("no body was found of"), "{}: {report}", project.name);
    }
}

macro_rules! projects {
    ($($test:ident: $project:ident),* $(,)?) => {
        $(
            #[test]
            #[ignore = "needs what `.ci/frameworks` installs"]
            fn $test() {
                $project.check();
            }
        )*
    };
}

projects! {
    junit_4: JUNIT_4,
    junit_5: JUNIT_5,
    phpunit: PHPUNIT,
    rspec: RSPEC,
    minitest: MINITEST,
    googletest: GOOGLETEST,
    googletest_alone: GOOGLETEST_ALONE,
    catch2: CATCH2,
}

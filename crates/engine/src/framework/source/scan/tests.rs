use super::super::{Edit, Language, Means, Place, Poison, Source, TestBody};

fn poison(place: Place, means: Means) -> Poison {
    Poison { place, means, word: "zaqwsx".to_owned() }
}

fn only(source: &Source, name: &str) -> TestBody {
    let found: Vec<_> = source.tests().iter().filter(|test| source.is_called(test, name)).cloned().collect();
    assert_eq!(found.len(), 1, "{name} in {:?}", source.tests().iter().map(|test| &test.names).collect::<Vec<_>>());
    found.into_iter().next().unwrap()
}

fn poisoned(source: &Source, name: &str, place: Place, means: Means) -> Option<String> {
    source.edited(&source.poisoned(&only(source, name), &poison(place, means))?)
}

fn altered(source: &Source, name: &str) -> String {
    let expectations = source.expectations(&only(source, name));
    let edits: Option<Vec<Vec<Edit>>> = expectations.iter().map(|one| source.altered(one, "zaqwsx")).collect();
    source.edited(&edits.unwrap().concat()).unwrap()
}

fn renamed(source: &Source, name: &str) -> (String, String) {
    let test = only(source, name);
    let text = source.edited(&[source.renamed(&test, "zaqwsx")]).unwrap();
    (text, source.renamed_name(&test, name, "zaqwsx").unwrap())
}

const JAVA: &str = r#"package shop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import org.junit.jupiter.api.*;

class CartTest {
    static final int[] ROWS = { 1, 2 };
    private final Cart cart = new Cart() { int size() { return 1; } };

    @BeforeEach void setUp() {}

    /** A brace: } */
    @Test
    @DisplayName("adds {")
    void adds() throws Exception {
        String text = """
            } "quoted"
            """;
        assertEquals(5L, cart.total(2, 3), "the sum");
        assertEquals('x', cart.mark());
    }

    @ParameterizedTest @ValueSource(ints = {1, 2})
    void rows(int one) { if (one > 3) { return; } assertEquals("a", name(one)); }

    @Nested
    class Empty {
        @Test void isZero() { int wanted = 0; assertEquals(wanted, cart.total()); }
    }

    void helper() { assertEquals(1, 1); }
}
"#;

#[test]
fn junits_tests_are_found_by_the_names_that_maven_and_gradle_print() {
    let source = Source::read("core/src/test/java/shop/CartTest.java", JAVA).unwrap();
    assert_eq!(source.tests().len(), 3, "{:?}", source.tests());
    for name in ["adds(shop.CartTest)", "shop.CartTest.adds", "shop.CartTest > adds()", "CartTest.adds", "adds"] {
        assert_eq!(only(&source, name).names, ["CartTest", "adds"]);
    }
    for name in ["rows(int)[1](shop.CartTest)", "shop.CartTest.rows{int}[2]", "shop.CartTest > rows(int) > [1] 3"] {
        assert_eq!(only(&source, name).names, ["CartTest", "rows"]);
    }
    assert_eq!(only(&source, "shop.CartTest$Empty.isZero").names, ["CartTest", "Empty", "isZero"]);
    for other in ["other.CartTest.adds", "shop.CartTest.helper", "shop.OtherTest > adds()", "add"] {
        assert!(!source.tests().iter().any(|test| source.is_called(test, other)), "{other}");
    }
    assert_eq!(renamed(&source, "rows(int)[1](shop.CartTest)").1, "rows_zaqwsx(int)[1](shop.CartTest)");
    let (text, name) = renamed(&source, "shop.CartTest > adds()");
    assert!(text.contains("void adds_zaqwsx() throws") && name == "shop.CartTest > adds_zaqwsx()", "{name} {text}");
}

#[test]
fn a_java_test_fails_before_and_after_its_body_and_expects_other_values() {
    let source = Source::read("src/test/java/shop/CartTest.java", JAVA).unwrap();
    let first = poisoned(&source, "shop.CartTest.adds", Place::First, Means::Raise).unwrap();
    assert!(first.contains("{ if (true) throw new java.lang.AssertionError(\"zaqwsx\");\n"), "{first}");
    let last = poisoned(&source, "shop.CartTest.rows", Place::Last, Means::Assertion).unwrap();
    let assertion = "org.junit.jupiter.api.Assertions.assertEquals(\"zaqwsx\", \"xswqaz\");";
    assert!(last.contains(&format!("name(one)); }} finally {{ {assertion} }} }}")), "{last}");
    let text = altered(&source, "shop.CartTest.adds");
    assert!(text.contains("assertEquals(7924L, cart") && text.contains("assertEquals('q', cart"), "{text}");
    assert!(altered(&source, "shop.CartTest.rows").contains("assertEquals(\"zaqwsxa\", name"));
    assert!(altered(&source, "shop.CartTest$Empty.isZero").contains("int wanted = 7919;"));
}

#[test]
fn junit_3_and_4_are_read_and_what_expects_an_error_is_left_alone() {
    let text = "import org.junit.Test;\npublic class ATest extends junit.framework.TestCase {\n  public void testA() { assertEquals(\"said\", 5, f()); }\n  \
                @Test(expected = AssertionError.class) public void fails() { f(); }\n  \
                @Test(expected = IllegalStateException.class) public void throwsOne() { f(); }\n  public void testWith(int a) {}\n}\n";
    let source = Source::read("ATest.java", text).unwrap();
    assert_eq!(source.tests().len(), 3);
    assert!(altered(&source, "testA(ATest)").contains("\"said\", 7924, f()"));
    assert_eq!(poisoned(&source, "fails(ATest)", Place::First, Means::Raise), None);
    assert!(
        poisoned(&source, "throwsOne(ATest)", Place::First, Means::Assertion).unwrap().contains("org.junit.Assert.")
    );
}

const PHP: &str = r#"<?php
namespace Tests\Unit;

use PHPUnit\Framework\TestCase;

final class CartTest extends TestCase
{
    use Helps;

    public static function rows(): array { return [[1, 2]]; }

    /** @test */
    public function it_adds(): void
    {
        $text = "{$this->names['}']} }"; // } '
        $this->assertSame('a', $this->cart->name(), 'said');
    }

    /** @dataProvider rows */
    public function testTotal(int $one, $two = []): void {
        $this->assertEquals(['a' => 1, 2], total($one));
        self::assertCount(3, $one);
        $class = Cart::class;
        $sql = <<<SQL
            } it's
            SQL;
    }

    #[Test]
    public function marked(): void { $wanted = true; $this->assertSame($wanted, f()); }

    private function testHelper() {}
}
"#;

#[test]
fn phpunits_tests_are_found_poisoned_altered_and_renamed() {
    let source = Source::read("tests/Unit/CartTest.php", PHP).unwrap();
    assert_eq!(source.tests().len(), 3, "{:?}", source.tests());
    assert_eq!(only(&source, "Tests\\Unit\\CartTest::it_adds").names[1], "it_adds");
    let total = "Tests\\Unit\\CartTest::testTotal with data set #0";
    assert!(!source.tests().iter().any(|test| source.is_called(test, "Other\\CartTest::testTotal")));
    let first = poisoned(&source, total, Place::First, Means::Assertion).unwrap();
    assert!(first.contains("): void { $this->assertSame('zaqwsx', 'xswqaz');\n"), "{first}");
    let last = poisoned(&source, total, Place::Last, Means::Raise).unwrap();
    assert!(last.contains("SQL;\n    } finally { if (true) { throw new \\Exception('zaqwsx'); } } }"), "{last}");
    let text = altered(&source, total);
    assert!(text.contains("(['zaqwsx', 'a' => 1, 2], total") && text.contains("assertCount(7922, "), "{text}");
    assert!(altered(&source, "CartTest::it_adds").contains("('zaqwsxa', $this"));
    assert!(altered(&source, "CartTest::marked").contains("$wanted = false;"));
    assert_eq!(renamed(&source, total).1, "Tests\\Unit\\CartTest::testTotal_zaqwsx with data set #0");
    assert_eq!(source.without_row(total), "Tests\\Unit\\CartTest::testTotal");
}

const CPP: &str = r#"#include "cart.h"
#define OPEN {
#if A
void a() {
#else
void b() {
#endif
}
namespace shop {
TEST(Cart, Adds) {
  const char *text = R"x(} " )x";
  EXPECT_EQ(total(2, 3), 1'000u);
  EXPECT_TRUE(total(1, 2) == 3) << "it's";
}

TEST_P(Rows, Each) { ASSERT_STREQ("a", name()); if (c == '}') return; }
}
TEST_CASE("adds numbers", "[cart]") {
  SECTION("two") { REQUIRE(total(2, 3) == std::string("5")); }
}
TEST_CASE("known to fail", "[!shouldfail]") { REQUIRE(false); }
int main() { return 0; }
"#;

#[test]
fn tests_of_googletest_and_catch2_are_found_poisoned_altered_and_renamed() {
    let source = Source::read("tests/cart_test.cc", CPP).unwrap();
    assert_eq!(source.tests().len(), 4, "{:?}", source.tests());
    assert_eq!(only(&source, "Cart.Adds").names, ["Cart", "Adds"]);
    let first = poisoned(&source, "Cart.Adds", Place::First, Means::Raise).unwrap();
    assert!(first.contains("Adds) { if (true) { ADD_FAILURE() << \"zaqwsx\"; return; }\n"), "{first}");
    let last = poisoned(&source, "All/Rows.Each/0", Place::Last, Means::Assertion).unwrap();
    let guard = "{ struct At_zaqwsx { ~At_zaqwsx() { EXPECT_STREQ(\"zaqwsx\", \"xswqaz\"); } } at_zaqwsx; ASSERT";
    assert!(last.contains(guard), "{last}");
    let titled = poisoned(&source, "adds numbers", Place::Last, Means::Raise).unwrap();
    assert!(titled.contains("~At_zaqwsx() { FAIL_CHECK(\"zaqwsx\"); }"), "{titled}");
    assert_eq!(poisoned(&source, "known to fail", Place::First, Means::Raise), None);
    let text = altered(&source, "Cart.Adds");
    assert!(text.contains("(1'000u + 7919)") && text.contains("== 7922)"), "{text}");
    assert!(altered(&source, "adds numbers").contains("std::string(\"zaqwsx5\")"));
    assert_eq!(renamed(&source, "All/Rows.Each/0").1, "All/Rows.Each_zaqwsx/0");
    assert!(renamed(&source, "adds numbers").0.contains("TEST_CASE(\"adds numbers zaqwsx\""));
}

const RUBY: &str = r##"require "spec_helper"

RSpec.describe Shop::Cart do
  let(:cart) { described_class.new }

  describe "#total" do
    it "adds" do # the sum
      [1].each do |one|
        cart.add(one)
      end
      expect(cart.total).to eq(5)
      expect(cart.names).to eq ["a", :b => 2]
      expect(cart.total).not_to eq(6)
    end

    [1, 2].each do |n|
      it("is #{n} times") { expect(cart.total).to eql("x") }
    end
  end

  context 'when it is empty', :slow do
    specify 'is zero' do
      expect(cart.total).to eq 0
    end
  end
end
"##;

#[test]
fn rspecs_examples_are_found_poisoned_altered_and_renamed() {
    let source = Source::read("spec/cart_spec.rb", RUBY).unwrap();
    assert_eq!(source.tests().len(), 3, "{:?}", source.tests());
    let adds = "Shop::Cart#total adds";
    assert_eq!(only(&source, adds).lines, (7, 14));
    only(&source, "Shop::Cart#total is 2 times");
    // As it is printed where a text is described.
    only(&source, "Shop::Cart #total adds");
    let first = poisoned(&source, adds, Place::First, Means::Raise).unwrap();
    assert!(first.contains("it \"adds\" do; raise \"zaqwsx\"; # the sum\n"), "{first}");
    let last = poisoned(&source, adds, Place::Last, Means::Assertion).unwrap();
    assert!(last.contains("eq(6)\n    ensure; expect(\"zaqwsx\").to eq(\"xswqaz\"); end; end\n"), "{last}");
    let last = poisoned(&source, "Shop::Cart#total is 1 times", Place::Last, Means::Raise).unwrap();
    assert!(last.contains("{ begin; expect(cart.total).to eql(\"x\") ; ensure; raise \"zaqwsx\"; end; }"), "{last}");
    let text = altered(&source, adds);
    assert!(text.contains("eq(7924)") && text.contains("eq ['zaqwsx', \"a\"") && text.contains("eq(6)"), "{text}");
    assert!(altered(&source, "Shop::Cart when it is empty is zero").contains("to eq 7919\n"));
    let (text, name) = renamed(&source, adds);
    assert!(text.contains("it \"adds zaqwsx\" do") && name == "Shop::Cart#total adds zaqwsx", "{name}");
}

#[test]
fn minitests_and_rails_tests_are_found_by_the_names_that_they_print() {
    let text = "class CartTest < Minitest::Test\n  def test_total\n    assert_equal 5, total\n  rescue KeyError\n    flunk\n  end\n\n  \
                test \"is the truth\" do\n    assert_equal('a', x)\n  end\nend\n\ndescribe 'Cart' do\n  describe 'total' do\n    it 'adds up' do\n      _(f).must_equal 3\n    end\n  end\nend\n";
    let source = Source::read("test/cart_test.rb", text).unwrap();
    for (name, lines) in [
        ("CartTest#test_total", (2, 6)),
        ("test_total(CartTest)", (2, 6)),
        ("CartTest#test_is_the_truth", (8, 10)),
        ("Cart::total#test_0001_adds up", (15, 17)),
    ] {
        assert_eq!(only(&source, name).lines, lines, "{name}");
    }
    let last = poisoned(&source, "CartTest#test_total", Place::Last, Means::Assertion).unwrap();
    assert!(last.contains("test_total; begin;\n") && last.contains("  ensure; assert_equal \"zaqwsx\""), "{last}");
    assert!(altered(&source, "CartTest#test_total").contains("assert_equal 7924, total"));
    assert!(altered(&source, "Cart::total#test_0001_adds up").contains("must_equal 7922"));
    assert_eq!(renamed(&source, "CartTest#test_total").1, "CartTest#test_total_zaqwsx");
}

#[test]
fn what_is_not_whole_is_not_read_and_a_hostile_file_does_no_harm() {
    for (path, text) in
        [("A.java", "class A { @Test void a() { "), ("a.php", "<?php class A { \"x"), ("a.cc", "TEST(A, B) { ) }")]
    {
        assert!(Source::read(path, text).is_none(), "{path}");
    }
    let deep = "(".repeat(200_000) + &")".repeat(200_000);
    for path in ["A.java", "a.php", "a.cc", "a.rb"] {
        assert!(Source::read(path, &deep).is_some_and(|source| source.tests().is_empty()), "{path}");
    }
}

#[test]
fn a_comparison_in_brackets_is_a_choice_and_what_a_call_is_given_is_none() {
    let spelled = |language: Language, text: &str| -> Vec<String> {
        let all = super::choices(language, text).expect("text").into_iter();
        all.filter(|one| one.ways.len() == 2).map(|one| one.spelled).collect()
    };
    let php = "<?php return $a - (PHP_SAPI !== 'cli') + f($b == 1) + ($c->d) + (int) ($e < 2);";
    assert_eq!(spelled(Language::Php, php), ["PHP_SAPI !== 'cli'", "$e < 2"]);
    let cpp = "int f(int a) { return a - (a > 3) + (a << 2) + (b = 1, a); }";
    assert_eq!(spelled(Language::Cpp, cpp), ["a > 3"]);
}

//! Tests of admission, and of the model that a call is made with.

use super::*;

fn id(text: &str) -> ModelId {
    ModelId::parse(text).unwrap()
}

fn gateway(pin: Option<Pin>) -> Gateway {
    Gateway {
        token: Token::random(),
        lanes: BTreeMap::new(),
        pin,
        facts: ModelFacts::default(),
        clean: None,
        waits: false,
    }
}

#[test]
fn a_token_is_long_random_and_its_own_alone() {
    let (one, other) = (Token::random(), Token::random());
    assert!(one.word().len() >= 64 && one.word() != other.word());
    assert!(one.is(one.word()));
    for wrong in [other.word(), "", one.word().get(..40).unwrap(), &format!("{}x", one.word())] {
        assert!(!one.is(wrong), "{wrong}");
    }
    assert_eq!(format!("{one:?}"), "Token", "it stands in no debug text");
}

#[test]
fn without_a_pin_the_clients_model_is_asked() {
    let asked = gateway(None).target("anthropic", "claude-sonnet-4-5");
    assert_eq!(asked, Ok((id("anthropic/claude-sonnet-4-5"), None)));
}

#[test]
fn a_pin_holds_every_call_and_tells_side_calls_apart() {
    let pin = |side: Option<&str>| Some(Pin { main: id("anthropic/claude-sonnet-5-5"), side: side.map(id) });
    let main = || id("anthropic/claude-sonnet-5-5");
    let held = gateway(pin(None));
    assert_eq!(held.target("anthropic", "claude-sonnet-5-5"), Ok((main(), None)), "its tools tell what it is for");
    assert_eq!(held.target("anthropic", "anthropic/claude-sonnet-5-5"), Ok((main(), None)), "with its provider");
    assert_eq!(held.target("anthropic", "claude-opus-5-5"), Ok((main(), Some(Purpose::Side))));
    let told = held.pin.as_ref().map(Pin::side_name).unwrap();
    assert_ne!(told, main().model);
    assert_eq!(held.target("anthropic", &told), Ok((main(), Some(Purpose::Side))), "the same model, told apart");
    let with_side = gateway(pin(Some("anthropic/claude-haiku-5-5")));
    let side = id("anthropic/claude-haiku-5-5");
    assert_eq!(with_side.target("anthropic", "claude-haiku-4-5"), Ok((side, Some(Purpose::Side))));
    assert_eq!(held.target("openai", "gpt-6-luna"), Err(main()), "another wire leads past the pin");
}

//! Arguments of a command that are described to the parser only when the command is named.

use clap::builder::Resettable;
use clap::error::Error;
use clap::{ArgMatches, Args, Command, FromArgMatches};

/// The arguments `T` of one command among many.
///
/// A dozen commands share the settings of a run, and a process needs those of one. The description of all of them took a fifth of a start.
#[derive(Debug)]
pub(super) struct WhenNamed<T>(pub Box<T>);

impl<T: Args> Args for WhenNamed<T> {
    fn augment_args(command: Command) -> Command {
        // clap asks for the arguments once the command is named, so the others are never built.
        command.defer(|command| described(command, T::augment_args))
    }

    fn augment_args_for_update(command: Command) -> Command {
        command.defer(|command| described(command, T::augment_args_for_update))
    }
}

impl<T: FromArgMatches> FromArgMatches for WhenNamed<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        T::from_arg_matches(matches).map(|args| Self(Box::new(args)))
    }

    fn from_arg_matches_mut(matches: &mut ArgMatches) -> Result<Self, Error> {
        T::from_arg_matches_mut(matches).map(|args| Self(Box::new(args)))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }
}

/// The command with its arguments. Its own words stay: those of the type `T` are of no use to a person.
fn described(command: Command, augment: fn(Command) -> Command) -> Command {
    let (about, long_about) = (command.get_about().cloned(), command.get_long_about().cloned());
    // What every command has stands at the end of its help.
    let common: Vec<_> = command.get_arguments().map(|argument| argument.get_id().clone()).collect();
    let command = augment(command).about(Resettable::from(about)).long_about(Resettable::from(long_about));
    // An argument that is touched again moves behind those that were added meanwhile.
    common.into_iter().fold(command, |command, id| command.mut_arg(id, |argument| argument))
}

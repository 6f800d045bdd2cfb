//! Settings that are one word of a few.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident $word:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        pub enum $name {
            $($(#[$doc])* #[serde(rename = $word)] $variant,)+
        }

        impl $name {
            /// Every word of configuration for this choice.
            pub const WORDS: &[&str] = &[$($word,)+];

            /// The word of configuration.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }

            /// Reads a word of configuration.
            #[must_use]
            pub fn from_word(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)+ _ => None }
            }
        }

        impl super::read::Readable for $name {
            fn kind() -> String {
                Self::WORDS.join(", ")
            }

            fn read(at: &super::read::Place<'_>) -> Option<Self> {
                super::values::word_here(at, Self::WORDS, Self::from_word)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

words! {
    /// Confinement of child processes.
    Sandbox {
        /// As far as the kernel can.
        Auto "auto",
        /// Or the run is refused.
        Required "required",
        /// None.
        Off "off",
    }
}
words! {
    /// Network of child processes.
    Network {
        /// The least that the baseline runs with.
        Auto "auto",
        /// None.
        Off "off",
        /// This machine alone.
        Loopback "loopback",
        /// All of it.
        On "on",
    }
}
words! {
    /// What happens with the parts of a fix that the tests pass without.
    Minimise {
        /// They are named to reviewers and stay.
        Remark "remark",
        /// They are left out.
        Drop "drop",
        /// They are not looked for.
        Off "off",
    }
}

impl Default for Minimise {
    /// A dropped part may be an untested caller or the second half of a fix, so nothing is dropped unless it is asked for.
    fn default() -> Self {
        Self::Remark
    }
}

words! {
    /// How much a green is asked to prove beyond its own run.
    Proof {
        /// What can be had.
        Auto "auto",
        /// A green that cannot be witnessed is none.
        Required "required",
        /// Nothing.
        Off "off",
    }
}

impl Default for Proof {
    /// Many frameworks have no bodies that can be found. Their greens count, and the report says what was not shown.
    fn default() -> Self {
        Self::Auto
    }
}

words! {
    /// What happens with a fix in which something could deceive a test runner.
    OnRemark {
        /// It is named to reviewers.
        Flag "flag",
        /// The fix is refused.
        Refuse "refuse",
    }
}

impl Default for OnRemark {
    /// Honest programs end, print and ask as well, and experiments have shown that the tests can still fail.
    fn default() -> Self {
        Self::Flag
    }
}

words! {
    /// What to do with a fix.
    Push {
        /// It stays in the working tree.
        None "none",
        /// It is committed to the pull request's branch.
        Commit "commit",
        /// A pull request is opened.
        Pr "pr",
    }
}
words! {
    /// What to wait for after a push.
    WaitFor {
        /// Nothing.
        None "none",
        /// The checks of the pushed commit.
        Ci "ci",
        /// The same, without a process that waits: the event of their end starts the job that goes on.
        Event "event",
        /// The merge of the pull request.
        Merge "merge",
    }
}
words! {
    /// When to comment on the pull request.
    Comment {
        /// After every run.
        Always "always",
        /// When there is something new.
        OnChange "on-change",
        /// When it was not fixed.
        OnFailure "on-failure",
        /// Never.
        Off "off",
    }
}
words! {
    /// An outcome that can fail the step of a workflow.
    FailOn {
        /// Every tier used its iterations.
        Exhausted "exhausted",
        /// No more progress.
        Stalled "stalled",
        /// A person is needed.
        Blocked "blocked",
        /// Green, but the critic objects.
        Objected "objected",
        /// A cap was reached.
        Budget "budget",
        /// Waiting, resumable.
        Parked "parked",
        /// No model could be used.
        NoModel "no_model",
        /// Refused before any work.
        Refused "refused",
        /// The test command does not work.
        Broken "broken",
        /// A signal ended it.
        Interrupted "interrupted",
    }
}
words! {
    /// Who merges a pull request of upshift's own.
    Merge {
        /// A person.
        Never "never",
        /// The forge, once everything that it requires is there.
        Auto "auto",
    }
}
words! {
    /// The form of the final report.
    Format {
        /// For people.
        Text "text",
        /// For programs.
        Json "json",
        /// Every event as a line when it happens, then the report: for programs that follow.
        Jsonl "jsonl",
    }
}
words! {
    /// The wire format of an endpoint.
    Wire {
        /// Anthropic's Messages.
        Anthropic "anthropic",
        /// OpenAI's Chat Completions.
        OpenAi "openai",
        /// Google's generateContent.
        Gemini "gemini",
        /// Ollama's own `/api/chat`.
        Ollama "ollama",
        /// A recorded cassette file.
        Cassette "cassette",
    }
}

words! {
    /// The method of a request.
    RestMethod {
        /// Reads.
        Get "get",
        /// Makes something.
        Post "post",
        /// Replaces something.
        Put "put",
        /// Changes something.
        Patch "patch",
        /// Removes something.
        Delete "delete",
    }
}

//! Facts about a test framework: how a command calls it, how it is told to write its results, how single tests are selected.

/// Everything that is known of one test framework, beside its reader in `testlog`.
#[derive(Debug, PartialEq, Eq)]
pub struct Framework {
    /// Its name in reports and in configuration.
    pub name: &'static str,
    /// How a command calls it.
    pub calls: &'static [Call],
    /// How it writes its results into a file.
    pub results: Option<Results>,
    /// Words in a command, a script or a configuration that say that it reports in a way of its own, and is told nothing. One that ends in
    /// a blank stands alone there, and not with `=false` behind it.
    pub own_ways: &'static [&'static str],
    /// How the names of the files begin that configure it.
    pub configured_in: &'static [&'static str],
    /// How it is told to run single tests.
    pub selects: Option<Select>,
    /// How its tests are called without it.
    pub direct: Option<Direct>,
    /// A variable and the options in it that have it start programs of tests through `{program}`.
    pub starts_through: Option<(&'static str, &'static str)>,
    /// The option that has it run each test twice in one process.
    pub runs_twice: Option<&'static str>,
    /// How it is told to run all tests, where it stops at a failure otherwise.
    pub goes_on: Option<GoesOn>,
}

/// How a framework that stops at the first program or module with a failure is told to go on.
#[derive(Debug, PartialEq, Eq)]
pub struct GoesOn {
    /// The words of a command that the option stands behind.
    pub behind: &'static [&'static [&'static str]],
    /// The option.
    pub option: &'static str,
    /// Options by which a command says itself when to stop, or that it runs nothing.
    pub unless: &'static [&'static str],
}

impl Framework {
    /// A framework of which nothing is known but that there is one: the rest of an entry that says less than all.
    pub(super) const UNKNOWN: Self = Self {
        name: "",
        calls: &[],
        results: None,
        own_ways: &[],
        configured_in: &[],
        selects: None,
        direct: None,
        starts_through: None,
        runs_twice: None,
        goes_on: None,
    };
}

/// How a command calls a framework.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// A program of a name that is nothing else, wherever it stands in a command.
    Word(&'static str),
    /// A program of a name that may be an ordinary word: where it is what a command starts.
    Program(&'static str),
    /// A program and what it is asked to do.
    Words(&'static [&'static str]),
    /// A module that Python's interpreter runs.
    Module(&'static str),
    /// A program that runs tests among other things: one of the words stands behind it.
    Build(&'static str, &'static [&'static str]),
    /// A program that was built, of any name: only configuration knows whose it is.
    Built,
}

/// How a framework writes its results for others to read.
#[derive(Debug, PartialEq, Eq)]
pub struct Results {
    /// How it is told.
    pub told: Tell,
    /// A file that it needs for that, by its name and its text.
    pub put: Option<(&'static str, &'static str)>,
    /// Where it writes them.
    pub written: Written,
}

/// How a framework is told to write its results. `{file}` stands for the file, `{folder}` for the folder that it is in, `{put}` for the
/// file that was put there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tell {
    /// Options in a variable, behind those that it holds.
    Options(&'static str, &'static str),
    /// A variable, where it is not set.
    Variable(&'static str, &'static str),
    /// Options behind the command.
    Behind(&'static str),
    /// A variable, and options behind the command.
    VariableAndBehind((&'static str, &'static str), &'static str),
    /// Other words in the place of those of the command.
    Instead(&'static str, &'static str),
    /// Not at all: it always does. A glob from the folder that the command runs in.
    Always(&'static str),
}

impl Tell {
    /// The options that stand behind the command.
    #[must_use]
    pub const fn options_behind(self) -> Option<&'static str> {
        match self {
            Self::Behind(options) | Self::VariableAndBehind(_, options) => Some(options),
            Self::Options(..) | Self::Variable(..) | Self::Instead(..) | Self::Always(_) => None,
        }
    }

    /// Where results are found of one that is not told.
    #[must_use]
    pub const fn glob(self) -> Option<&'static str> {
        match self {
            Self::Always(glob) => Some(glob),
            Self::Behind(_)
            | Self::VariableAndBehind(..)
            | Self::Options(..)
            | Self::Variable(..)
            | Self::Instead(..) => None,
        }
    }
}

/// Where results are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// In the named file.
    File,
    /// In a file of that name, in the folder.
    Named(&'static str),
    /// In every XML file of the folder.
    Folder,
    /// In what it prints, of which each line says what it is.
    Printed,
}

/// How single tests are selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Select {
    /// Names as arguments.
    Arguments,
    /// Names behind `--`.
    BehindDashes,
    /// One option for each name.
    Each(&'static str),
    /// One option for each name, as a path with dots.
    Dotted(&'static str),
    /// One option with a regular expression over all names.
    Pattern(&'static str),
    /// The same over titles, of which a package's script may run the tests.
    Titles(&'static str),
    /// The same over the outermost parts of the names.
    Outermost(&'static str),
    /// One option for each part of a name, before the files.
    Parts(&'static str, &'static str),
    /// Other options, and one with all names as `Class#method`.
    ClassAndMethod(&'static str, &'static str),
    /// One option for each name, as `package.Class.method`, behind the one task that is run.
    EachMethod(&'static str),
    /// A variable with all names, before the program.
    Variable(&'static str),
    /// One option with a regular expression over the names of methods.
    Methods(&'static str),
}

/// How tests are called without their framework: by a plain interpreter, from a program of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direct {
    /// By the Python that stands before the words, or that runs one of the programs.
    Python(&'static str, &'static [&'static str]),
    /// By the Node.js that stands before the words.
    NodeBefore(&'static str),
    /// By Node.js.
    Node,
}

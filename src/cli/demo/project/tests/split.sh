# What splitting a bill must do: `sh tests/split.sh` prints a line for each test (TAP).
number=0 failed=0

check() { # NAME CENTS PEOPLE EXPECTED
  number=$((number + 1))
  got=$(awk -v cents="$2" -v people="$3" -f split.awk | tr '\n' ' ')
  if [ "$got" = "$4 " ]; then
    echo "ok $number - $1"
  else
    failed=1
    echo "not ok $number - $1"
    echo "# $2 cents among $3 people: expected $4, got $got"
  fi
}

check 'an even bill is split evenly' 900 3 '300 300 300'
check 'no cent is lost' 1000 3 '334 333 333'
check 'nobody pays two cents more' 1001 3 '334 334 333'
echo "1..$number"
exit "$failed"

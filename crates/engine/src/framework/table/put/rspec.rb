# Writes what became of each example beside what is printed: a second formatter, when the first are in place.
RSpec.configure do |config|
  config.before(:suite) { config.add_formatter('json', '{file}') }
end

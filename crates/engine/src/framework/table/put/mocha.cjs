// Writes what became of every test of a mocha run beside this file, as mocha's own JSON reporter would.
'use strict';
const fs = require('node:fs');
const path = require('node:path');

exports.mochaHooks = {
  afterAll() {
    let suite = this.test && this.test.parent;
    if (!suite) return;
    while (suite.parent) suite = suite.parent;
    const report = { passes: [], pending: [], failures: [] };
    const visit = (one) => {
      for (const test of one.tests) {
        const list = test.isPending() ? report.pending : { passed: report.passes, failed: report.failures }[test.state];
        // A test that was not selected has no state.
        if (list) list.push({ fullTitle: test.fullTitle(), file: test.file, err: { message: String(test.err && test.err.message || '') } });
      }
      one.suites.forEach(visit);
    };
    visit(suite);
    const { passes, pending, failures } = report;
    const stats = { passes: passes.length, pending: pending.length, failures: failures.length };
    fs.writeFileSync(path.join(__dirname, 'results'), JSON.stringify({ stats, ...report }));
  },
};

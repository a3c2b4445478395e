import type { Reporter, TestModule } from 'vitest/node'

/** Ends a run with one plain line of totals, for programs that read them. */
export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    const totals = {
      passed: 0,
      failed: errors.length + modules.filter(each => each.state() === 'failed' && each.children.size === 0).length,
      skipped: 0,
    }
    for (const each of modules)
      for (const test of each.children.allTests()) {
        const { state } = test.result()
        if (state !== 'pending') totals[state]++
      }
    process.stdout.write(`\n${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} skipped\n`)
  }
}

import { ReportersMap, type TestModule, type Vitest } from 'vitest/node'

/** Shows what failed, and ends a run with one plain line of totals, for programs that read them. */
export default class FailuresOnly extends ReportersMap.minimal {
  override onInit(vitest: Vitest): void {
    this.ctx = vitest
  }

  override onTestRunEnd(
    ...[modules, errors, reason]: Parameters<InstanceType<typeof ReportersMap.minimal>['onTestRunEnd']>
  ): void {
    super.onTestRunEnd(modules, errors, reason)
    process.stdout.write(`${closingLine(modules, errors)}\n`)
  }

  /** The closing line says it. */
  override reportTestSummary(): void {}
}

function closingLine(modules: readonly TestModule[], errors: readonly unknown[]): string {
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
  return `${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} skipped`
}

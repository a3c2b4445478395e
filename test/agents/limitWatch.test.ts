import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { AgentFailure } from '../../src/agents/link/agentLink.ts'
import { watchLimits } from '../../src/agents/sessions/watch/limitWatch.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

test("a session ends with the reason time_limit when it exceeds the project's limit, and not before", () => {
  const terminate = vi.fn<(graceMs: number) => Promise<void>>(async () => {})
  const processes = { usage: async () => ({ memoryBytes: 0, processes: 1, cpuMs: 0 }), terminate }
  const watch = watchLimits({ memoryMiB: null, processes: null, fileMiB: null, minutes: 2 }, processes)
  const killed = new AgentFailure('crashed', 'The agent was killed.')
  vi.advanceTimersByTime(2 * 60_000 - 1)
  expect([terminate.mock.calls.length, watch.explain(killed)]).toEqual([0, killed])
  vi.advanceTimersByTime(1)
  expect(terminate.mock.calls.length).toBe(1)
  expect(watch.explain(killed)).toMatchObject({
    reason: 'time_limit',
    message: 'The session took longer than 2 minutes.',
  })
  watch.stop()
})

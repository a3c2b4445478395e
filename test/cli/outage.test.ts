import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { watchOutage } from '../../cli/requests/outage.ts'
import type { Out } from '../../cli/output/output.ts'

const lines: string[] = []
const out = { done: (text: string) => void lines.push(text) } as unknown as Out
beforeEach(() => {
  lines.length = 0
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

describe('an outage', () => {
  test('is reported once, then every minute, and exceeds its limit with exit code 7', async () => {
    const outage = watchOutage(out, 150)
    let exit: string | undefined
    outage.exceeded.catch(error => {
      exit = error.exit
    })
    for (let second = 0; second < 149; second++) {
      outage.begin()
      await vi.advanceTimersByTimeAsync(1000)
    }
    expect(lines).toEqual([
      'The connection to the server was lost; connecting again ...',
      'The server has not responded for 1 min; connecting again ...',
      'The server has not responded for 2 min; connecting again ...',
    ])
    expect(exit).toBeUndefined()
    await vi.advanceTimersByTimeAsync(1000)
    expect(exit).toBe('unreachable')
    outage.stop()
  })

  test('ends with a line, and its limit counts from the next outage', async () => {
    const outage = watchOutage(out, 60)
    let isExceeded = false
    outage.exceeded.catch(() => {
      isExceeded = true
    })
    outage.begin()
    await vi.advanceTimersByTimeAsync(59_000)
    outage.end()
    outage.begin()
    await vi.advanceTimersByTimeAsync(59_000)
    expect(isExceeded).toBe(false)
    await vi.advanceTimersByTimeAsync(2000)
    expect(isExceeded).toBe(true)
    expect(lines[1]).toBe('The server is responding again.')
  })

  test('that starts and ends within a minute is reported once', async () => {
    const outage = watchOutage(out)
    for (let second = 0; second < 30; second++) {
      outage.begin()
      outage.end()
      await vi.advanceTimersByTimeAsync(1000)
    }
    expect(lines).toHaveLength(2)
  })
})

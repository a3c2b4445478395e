import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { backoffMs } from '../../src/async/backoff.ts'
import { coalesce } from '../../src/async/coalesce.ts'
import { retry } from '../../src/async/retry.ts'
import { createSemaphore } from '../../src/async/semaphore.ts'
import { createKeyedQueue, createSerialQueue } from '../../src/async/serialQueue.ts'
import { throttle } from '../../src/async/throttle.ts'

/** Work that ends on request, and the names of the started work. */
function createGates() {
  const begun: string[] = []
  const open = new Map<string, () => void>()
  return {
    begun,
    work: (name: string) => async () => {
      begun.push(name)
      await new Promise<void>(resolve => open.set(name, resolve))
      return name
    },
    end: async (name: string) => {
      open.get(name)!()
      await new Promise(setImmediate)
    },
  }
}

test('a semaphore starts work immediately while slots are free, queues the rest in order, and continues after a failure', async () => {
  const { begun, work, end } = createGates()
  const withSlot = createSemaphore(2)
  const failed = withSlot(() => work('a')().then(() => Promise.reject(new Error('no'))))
  const others = ['b', 'c', 'd'].map(name => withSlot(work(name)))
  expect(begun).toEqual(['a', 'b'])
  await Promise.all([expect(failed).rejects.toThrow('no'), end('a')])
  expect(begun).toEqual(['a', 'b', 'c'])
  await end('b')
  await end('c')
  await end('d')
  expect(await Promise.all(others)).toEqual(['b', 'c', 'd'])
})

test('a serial queue runs one task after the other, pauses between them, and continues after a failure', async () => {
  const order: string[] = []
  const queue = createSerialQueue(async () => {
    await new Promise(setImmediate)
    order.push('pause')
  })
  const failed = queue(async () => {
    await delay(5)
    order.push('failed')
    throw new Error('no')
  })
  const next = queue(() => order.push('next'))
  await expect(failed).rejects.toThrow('no')
  await next
  await queue.idle()
  expect(order).toEqual(['failed', 'pause', 'next', 'pause'])
})

test('a keyed queue serializes the work of one key, and of no other', async () => {
  const { begun, work, end } = createGates()
  const queue = createKeyedQueue()
  const all = [queue('one', work('1a')), queue('one', work('1b')), queue('two', work('2a'))]
  await new Promise(setImmediate)
  expect(begun).toEqual(['1a', '2a'])
  await end('1a')
  expect(begun).toEqual(['1a', '2a', '1b'])
  await end('1b')
  await end('2a')
  expect(await Promise.all(all)).toEqual(['1a', '1b', '2a'])
})

test('calls during a coalesced run share one run that starts after it', async () => {
  let runs = 0
  const run = coalesce(async () => {
    const mine = ++runs
    await new Promise(setImmediate)
    if (mine === 1) throw new Error('no')
    return mine
  })
  const first = run()
  await Promise.resolve()
  const [second, third] = [run(), run()]
  await expect(first).rejects.toThrow('no')
  expect(await Promise.all([second, third])).toEqual([2, 2])
  expect(await run()).toBe(3)
})

test('a throttled listener is called once for many calls, and immediately when it is flushed', async () => {
  let calls = 0
  const soon = throttle(() => calls++, 10)
  soon.flush()
  expect(calls).toBe(0)
  soon()
  soon()
  soon.flush()
  expect(calls).toBe(1)
  soon()
  soon()
  await expect.poll(() => calls).toBe(2)
  soon()
  soon.cancel()
  soon.flush()
  expect(calls).toBe(2)
})

test('work is retried until it succeeds, gives up, or its signal is aborted', async () => {
  const failures: number[] = []
  const twice = async () => {
    if (failures.length < 2) throw new Error('again')
    return 'done'
  }
  const delayMs = (_: unknown, count: number) => {
    failures.push(count)
    return 0
  }
  expect(await retry(twice, { delayMs })).toBe('done')
  expect(failures).toEqual([1, 2])
  await expect(retry(() => Promise.reject(new Error('final')), { delayMs: () => undefined })).rejects.toThrow('final')
  const stop = new AbortController()
  const waiting = retry(() => Promise.reject(new Error('still away')), { delayMs: () => 60_000, signal: stop.signal })
  await new Promise(setImmediate)
  stop.abort()
  await expect(waiting).rejects.toThrow('still away')
})

test('a backoff doubles up to its maximum, and a jitter only shortens it', () => {
  const [firstMs, maxMs] = [100, 1000]
  expect([1, 2, 3, 4, 5, 1000].map(failures => backoffMs(failures, { firstMs, maxMs }))).toEqual([
    100, 200, 400, 800, 1000, 1000,
  ])
  for (let at = 0; at < 100; at++) {
    const ms = backoffMs(2, { firstMs, maxMs, jitter: 0.5 })
    expect(ms > 100 && ms <= 200).toBe(true)
  }
})

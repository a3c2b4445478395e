import { expect, it } from 'vitest'
import { createHashQueue, hashPassword, verifyPassword } from '../../src/identity/passwords.ts'

it('runs a limited number of hashes at once and all in order, also after failures', async () => {
  const inTurn = createHashQueue(2)
  let running = 0
  let maxConcurrent = 0
  const done: number[] = []
  const results = await Promise.allSettled(
    Array.from({ length: 50 }, (_, i) =>
      inTurn(async () => {
        maxConcurrent = Math.max(maxConcurrent, ++running)
        await new Promise(setImmediate)
        running--
        done.push(i)
        if (i % 7 === 0) throw new Error('fails')
        return i
      }),
    ),
  )
  expect(maxConcurrent).toBe(2)
  expect(done).toEqual(Array.from({ length: 50 }, (_, i) => i))
  expect(results.filter(result => result.status === 'rejected')).toHaveLength(8)
  expect(await inTurn(async () => 'free')).toBe('free')
})

it('rejects a request behind a thousand others', async () => {
  const inTurn = createHashQueue(1)
  let finish = () => {}
  const first = inTurn(
    () =>
      new Promise<void>(resolve => {
        finish = resolve
      }),
  )
  const waiting = Array.from({ length: 1000 }, () => inTurn(async () => true))
  await expect(inTurn(async () => true)).rejects.toMatchObject({ code: 'RATE_LIMITED', retryAfterSecs: 5 })
  finish()
  await first
  expect((await Promise.all(waiting)).every(Boolean)).toBe(true)
})

it('reserves places for others if one network sends many requests', async () => {
  const inTurn = createHashQueue(1)
  let finish = () => {}
  const first = inTurn(
    () =>
      new Promise<void>(resolve => {
        finish = resolve
      }),
  )
  const fromOne = Array.from({ length: 250 }, () => inTurn(async () => true, '203.0.113.7'))
  await expect(inTurn(async () => true, '203.0.113.7')).rejects.toMatchObject({ code: 'RATE_LIMITED' })
  const other = inTurn(async () => true, '198.51.100.9')
  finish()
  await first
  expect((await Promise.all([...fromOne, other])).every(Boolean)).toBe(true)
})

it('distinguishes the right password from another, and takes as long if there is no account', async () => {
  const hash = await hashPassword('pässword \u{1F511}')
  expect(await verifyPassword(hash, 'pässword \u{1F511}')).toBe(true)
  expect(await verifyPassword(hash, 'password')).toBe(false)
  const quickest = async (present: string | undefined) => {
    const times: number[] = []
    for (let i = 0; i < 15; i++) {
      const startedAt = performance.now()
      expect(await verifyPassword(present, 'password')).toBe(false)
      times.push(performance.now() - startedAt)
    }
    return Math.min(...times)
  }
  const [wrong, nobody] = [await quickest(hash), await quickest(undefined)]
  expect(Math.max(wrong, nobody) / Math.min(wrong, nobody)).toBeLessThan(3)
})

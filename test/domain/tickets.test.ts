import { expect, test } from 'vitest'
import { createTickets } from '../../src/identity/tickets.ts'

const at = { ms: 0 }
const tickets = (most: number) => createTickets<string>({ most, lifeMs: 1000, clock: () => new Date(at.ms) })

test('what is kept under a secret is taken once', async () => {
  const kept = tickets(10)
  await kept.keep('a', 'one')
  expect([await kept.take('b'), await kept.take('a'), await kept.take('a')]).toEqual([undefined, 'one', undefined])
})

test('what is kept is forgotten after its time', async () => {
  const kept = tickets(10)
  await kept.keep('a', 'one')
  await kept.keep('b', 'two')
  at.ms += 999
  expect(await kept.take('a')).toBe('one')
  at.ms += 1
  expect(await kept.take('b')).toBeUndefined()
})

test('of more than the bound the oldest are forgotten', async () => {
  const kept = tickets(3)
  for (const secret of ['a', 'b', 'c', 'd', 'e']) await kept.keep(secret, secret)
  expect(await Promise.all(['a', 'b', 'c', 'd', 'e'].map(secret => kept.take(secret)))).toEqual([undefined, undefined, 'c', 'd', 'e'])
})

import { expect, test } from 'vitest'
import { createTickets } from '../../src/identity/tickets.ts'

const at = { ms: 0 }
const tickets = (most: number) => createTickets<string>({ most, lifeMs: 1000, clock: () => new Date(at.ms) })

test('what is kept under a secret is taken once', () => {
  const kept = tickets(10)
  kept.keep('a', 'one')
  expect([kept.take('b'), kept.take('a'), kept.take('a')]).toEqual([undefined, 'one', undefined])
})

test('what is kept is forgotten after its time', () => {
  const kept = tickets(10)
  kept.keep('a', 'one')
  kept.keep('b', 'two')
  at.ms += 999
  expect(kept.take('a')).toBe('one')
  at.ms += 1
  expect(kept.take('b')).toBeUndefined()
})

test('of more than the bound the oldest are forgotten', () => {
  const kept = tickets(3)
  for (const secret of ['a', 'b', 'c', 'd', 'e']) kept.keep(secret, secret)
  expect(['a', 'b', 'c', 'd', 'e'].map(secret => kept.take(secret))).toEqual([undefined, undefined, 'c', 'd', 'e'])
})

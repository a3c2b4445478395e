import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { tokenPrefixOf, hashToken, createToken, tokenPrefixes } from '../../src/domain/accounts/token.ts'

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

describe('tokens', () => {
  it('have 40 characters: the prefix, then base62', () => {
    for (const prefix of tokenPrefixes) expect(createToken(prefix)).toMatch(new RegExp(`^${prefix}[0-9A-Za-z]{33}$`))
  })

  it('show their kind', () => {
    for (const prefix of tokenPrefixes)
      for (let i = 0; i < 100; i++) expect(tokenPrefixOf(createToken(prefix))).toBe(prefix)
  })

  it('never repeat, and use every character in every random place but the first', () => {
    const tokens = Array.from({ length: 5000 }, () => createToken('svc_ak_'))
    expect(new Set(tokens).size).toBe(5000)
    for (let place = 8; place < 34; place++)
      expect(new Set(tokens.map(token => token[place])).size, `place ${place}`).toBe(62)
  })

  it('are rejected if any one character is different', () => {
    fc.assert(
      fc.property(fc.nat(39), fc.constantFrom(...alphabet), (place, character) => {
        const token = createToken('svc_st_')
        const mistyped = token.slice(0, place) + character + token.slice(place + 1)
        expect(tokenPrefixOf(mistyped)).toBe(mistyped === token ? 'svc_st_' : undefined)
      }),
      { numRuns: 500 },
    )
  })

  it('are rejected with another prefix, truncated, extended or with surrounding text', () => {
    const token = createToken('svc_ak_')
    for (const text of [
      '',
      'svc_ak_',
      token.replace('svc_ak_', 'svc_lt_'),
      token.replace('svc_ak_', 'svc_xx_'),
      token.slice(0, -1),
      `${token}0`,
      ` ${token}`,
      `${token}\n`,
      token.toUpperCase(),
    ])
      expect(tokenPrefixOf(text)).toBeUndefined()
  })

  it('are rejected for any other text', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 80 }), text => {
        expect(tokenPrefixOf(text)).toBeUndefined()
      }),
    )
  })

  it('are stored as SHA-256', () => {
    expect(hashToken('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad')
  })
})

import { hash, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'

/**
 * The prefixes by purpose of the token: API key, sign-in, agent, the local token of a running server, an invitation, a browser's
 * ticket; and for a connected app its code, its access tokens and its refresh tokens.
 */
export const tokenPrefixes = [
  'svc_ak_',
  'svc_st_',
  'svc_at_',
  'svc_lt_',
  'svc_in_',
  'svc_bt_',
  'svc_oc_',
  'svc_ot_',
  'svc_or_',
] as const
export type TokenPrefix = (typeof tokenPrefixes)[number]

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const randomLength = 27
const checksumLength = 6
const prefixLength = 7
const tokenLength = prefixLength + randomLength + checksumLength
const base62 = /^[0-9A-Za-z]+$/

/** Creates a token: the prefix, 160 random bits and a CRC-32 of both, in base62. Every token has 40 characters. */
export function createToken(prefix: TokenPrefix): string {
  const body = prefix + encode(BigInt(`0x${randomBytes(20).toString('hex')}`), randomLength)
  return body + checksumOf(body)
}

/** Returns the prefix of a token. Undefined if its form or its checksum is wrong, so that a typo costs no look-up. */
export function tokenPrefixOf(text: string): TokenPrefix | undefined {
  if (text.length !== tokenLength || !base62.test(text.slice(prefixLength))) return undefined
  const body = text.slice(0, -checksumLength)
  return checksumOf(body) === text.slice(-checksumLength)
    ? tokenPrefixes.find(prefix => body.startsWith(prefix))
    : undefined
}

/** SHA-256 of a token in hexadecimal, the only stored form of it. Its 160 random bits need no salt and no slow hash. */
export const hashToken = (token: string): string => hash('sha256', token, 'hex')

/** The characters of a token that are shown to distinguish it from others. */
export const lastFour = (token: string): string => token.slice(-4)

/** Runs on every request, so it avoids the slow division of large integers. */
function checksumOf(body: string): string {
  let text = ''
  for (let rest = crc32(body); text.length < checksumLength; rest = Math.floor(rest / 62))
    text = alphabet[rest % 62] + text
  return text
}

function encode(value: bigint, length: number): string {
  let text = ''
  for (let rest = value; rest > 0n; rest /= 62n) text = alphabet[Number(rest % 62n)] + text
  return text.padStart(length, '0')
}

import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { ServerConfig } from '../config/server.ts'
import { Problem, refuse } from '../contract/errors.ts'

const version = '1'
const keyBytes = 32
const nonceBytes = 12
const tagBytes = 16
const keyFile = 'secret.key'
const wanted = '32 bytes in base64 or hexadecimal, for example from: openssl rand -base64 32'

/**
 * Encrypts secrets for the database. `place` names where the sealed text is stored, for example `credentials/12/secret`, and is
 * authenticated with the text, so that the text cannot be opened anywhere else.
 */
export interface Seal {
  /** @returns text of the base64url alphabet and dots */
  seal(place: string, secret: string): string
  /** @throws Problem SEALED_WITH_OTHER_KEY, also if the text is damaged or belongs to another place */
  open(place: string, sealed: string): string
  /** A key for another purpose, from which the sealing key cannot be derived. */
  derive(label: string): Buffer
}

interface Key {
  bytes: Buffer
  fingerprint: string
}

/**
 * AES-256-GCM with BOARD_SECRET_KEY, or otherwise with `secret.key` in the data folder, which is generated on first use. Sealed
 * text is `version.fingerprint.nonce.tag.ciphertext`; the first two are authenticated with the place.
 * @throws Problem VALIDATION_FAILED if BOARD_SECRET_KEY is not a key
 */
export function createSeal({ secretKey, dataDir }: Pick<ServerConfig, 'secretKey' | 'dataDir'>): Seal {
  let key =
    secretKey === undefined
      ? undefined
      : (toKey(secretKey) ?? refuse('VALIDATION_FAILED', `BOARD_SECRET_KEY must be ${wanted}.`))
  const useKey = () =>
    (key ??=
      toKey(readOrMakeKeyFile(join(dataDir, keyFile))) ??
      refuse('SEALED_WITH_OTHER_KEY', `${keyFile} in the server's data folder is damaged. It must contain ${wanted}.`))
  return {
    seal: (place, secret) => seal(useKey(), place, secret),
    open: (place, sealed) => open(useKey(), place, sealed),
    derive: label => Buffer.from(hkdfSync('sha256', useKey().bytes, '', label, keyBytes)),
  }
}

function seal({ bytes, fingerprint }: Key, place: string, secret: string): string {
  const nonce = randomBytes(nonceBytes)
  const cipher = createCipheriv('aes-256-gcm', bytes, nonce, { authTagLength: tagBytes }).setAAD(
    boundData(fingerprint, place),
  )
  const ciphertext = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()])
  return [
    version,
    fingerprint,
    ...[nonce, cipher.getAuthTag(), ciphertext].map(part => part.toString('base64url')),
  ].join('.')
}

function open({ bytes, fingerprint }: Key, place: string, sealed: string): string {
  const [sealedVersion, sealedBy, ...parts] = sealed.split('.')
  if (sealedVersion === version && sealedBy !== fingerprint) throw new Problem('SEALED_WITH_OTHER_KEY')
  const [nonce, tag, ciphertext] = parts.map(part => Buffer.from(part, 'base64url'))
  try {
    if (sealedVersion !== version || parts.length !== 3) throw new Error('not sealed text')
    const decipher = createDecipheriv('aes-256-gcm', bytes, nonce!, { authTagLength: tagBytes })
      .setAAD(boundData(fingerprint, place))
      .setAuthTag(tag!)
    return Buffer.concat([decipher.update(ciphertext!), decipher.final()]).toString('utf8')
  } catch {
    throw new Problem(
      'SEALED_WITH_OTHER_KEY',
      'The stored secret is damaged, or belongs to another record. Enter the secret again.',
    )
  }
}

/** Whether a text is a valid sealing key. */
export const isSealingKey = (text: string): boolean => toKey(text) !== undefined

/** The text of a server's sealing key. Undefined if there is none yet. */
export function sealingKeyOf({ secretKey, dataDir }: Pick<ServerConfig, 'secretKey' | 'dataDir'>): string | undefined {
  if (secretKey !== undefined) return secretKey
  try {
    return readFileSync(join(dataDir, keyFile), 'utf8').trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

const boundData = (fingerprint: string, place: string) => Buffer.from(`${version}.${fingerprint}.${place}`)

/** Parses a key; its fingerprint identifies it without revealing it. */
function toKey(text: string): Key | undefined {
  const bytes = /^[0-9a-f]{64}$/i.test(text)
    ? Buffer.from(text, 'hex')
    : /^[\w+/-]{43}=?$/.test(text)
      ? Buffer.from(text, 'base64')
      : undefined
  if (bytes?.length !== keyBytes) return undefined
  return {
    bytes,
    fingerprint: Buffer.from(hkdfSync('sha256', bytes, '', 'board key fingerprint', 6)).toString('base64url'),
  }
}

function readOrMakeKeyFile(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return makeKeyFile(path)
  }
}

/** Writes and syncs the key file before anything is sealed with it. */
function makeKeyFile(path: string): string {
  const text = randomBytes(keyBytes).toString('base64')
  const file = openSync(path, 'wx', 0o600)
  try {
    writeSync(file, `${text}\n`)
    fsyncSync(file)
  } catch (error) {
    rmSync(path)
    throw error
  } finally {
    closeSync(file)
  }
  const folder = openSync(dirname(path), 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
  return text
}

import { randomBytes, timingSafeEqual } from 'node:crypto'
import { isLocalOnly, knowsItsPeers, type ServerConfig } from '../config/server.ts'
import type { Peer } from './peer.ts'
import { hasSocketTables } from '../system/socketOwner.ts'
import { hashToken, createToken } from '../domain/accounts/token.ts'
import type { Database, Reader } from '../store/engine/database.ts'
import { retryWhileBusy } from '../store/engine/retry.ts'
import { cachedReader, versionOfRequests } from '../store/engine/cachedReader.ts'
import { hasUsers } from '../store/accounts/users.ts'
import { createHashQueue, type HashQueue } from './passwords.ts'
import { createRevocations, type Revocations } from './revocations.ts'
import type { Seal } from './seal.ts'
import { createThrottle, type Throttle } from './throttle.ts'
import { createLastUsedWriter, type LastUsedWriter } from './lastUsed.ts'

/** The state of authentication that is not in the database. */
export interface Identity extends Revocations {
  /** The token in `daemon.json`, for accounts that can read that file. New at each start, and stored nowhere else. */
  localToken: string
  localTokenHash: string
  /** Reads the token of each request. The results are cached until the next commit. */
  holders: Reader
  hasUsers(): Promise<boolean>
  /**
   * The one-time code for creating the first user. Required while there are no users and the server is reachable from other
   * machines or cannot tell its OS accounts apart.
   */
  setupCode(): string | undefined
  /** Whether a setup from this peer needs the code. */
  needsSetupCode(peer: Pick<Peer, 'isOwn'>): Promise<boolean>
  isSetupCode(text: string | undefined): boolean
  endSetup(): void
  throttle: Throttle
  hashQueue: HashQueue
  lastUsed: LastUsedWriter
  close(): void
}

/** The parts of the board that authentication uses. */
export interface AuthContext {
  config: ServerConfig
  db: Database
  identity: Identity
}

/** @param localToken the token of the board that this one replaces, which stays valid */
export async function createIdentity(
  config: ServerConfig,
  db: Database,
  seal: Seal,
  localToken: string = createToken('svc_lt_'),
): Promise<Identity> {
  const lastUsed = createLastUsedWriter(db)
  const revocations = createRevocations(db)
  const knowsAccounts = isLocalOnly(config) && (await hasSocketTables(config.socketTables))
  let setupCode =
    (knowsAccounts && config.setupCode === undefined) || (await retryWhileBusy(() => hasUsers(db)))
      ? undefined
      : (config.setupCode ?? (db.isShared ? sharedSetupCode(seal) : newSetupCode()))
  return {
    ...revocations,
    localToken,
    localTokenHash: hashToken(localToken),
    holders: cachedReader(db, versionOfRequests(db)),
    hasUsers: () => hasUsers(db),
    setupCode: () => setupCode,
    needsSetupCode: async peer => !(knowsItsPeers(config) && (await peer.isOwn())),
    isSetupCode: text => setupCode !== undefined && text !== undefined && isSame(text, setupCode),
    endSetup: () => {
      setupCode = undefined
    },
    throttle: createThrottle(db, seal),
    hashQueue: createHashQueue(),
    lastUsed,
    close: () => {
      revocations.close()
      lastUsed.close()
    },
  }
}

const newSetupCode = () => formatSetupCode(randomBytes(8))

/** Daemons with the same sealing key derive the same code, so each accepts the code that another one printed. */
const sharedSetupCode = (seal: Seal) => formatSetupCode(seal.derive('board setup code').subarray(0, 8))

const formatSetupCode = (bytes: Buffer) => bytes.toString('hex').match(/.{4}/g)!.join('-')

const isSame = (a: string, b: string) => timingSafeEqual(Buffer.from(hashToken(a)), Buffer.from(hashToken(b)))

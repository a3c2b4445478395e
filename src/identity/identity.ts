import { randomBytes, timingSafeEqual } from 'node:crypto'
import { isLocalOnly, knowsItsPeers, type ServerConfig } from '../config/server.ts'
import type { Peer } from '../config/peer.ts'
import { hasSocketTables } from '../config/socketOwner.ts'
import { hashToken, mint } from '../ids/token.ts'
import type { Database, Reader } from '../store/database.ts'
import { retryWhileBusy } from '../store/retry.ts'
import { cachedReader } from '../store/cachedReader.ts'
import { hasUsers } from '../store/users.ts'
import { createHashQueue, type HashQueue } from './passwords.ts'
import { createRevocations, type Revocations } from './revocations.ts'
import type { Seal } from './seal.ts'
import { createThrottle, type Throttle } from './throttle.ts'
import { createTouches, type Touches } from './touches.ts'

/** What the server knows about who may come in, beside what the database holds. */
export interface Identity extends Revocations {
  /** The token of whoever may read `daemon.json`: new at each start, kept nowhere else. */
  localToken: string
  localTokenHash: string
  /** Whose a token is, which every request asks: read once until something is committed. */
  holders: Reader
  hasUsers(): Promise<boolean>
  /** The one-time code for the first user, while one is needed: the server has no users, and is reached from beyond this machine or cannot tell its accounts apart. */
  setupCode(): string | undefined
  /** Whether a setup from this peer must bring the code. */
  needsSetupCode(peer: Pick<Peer, 'isOwn'>): Promise<boolean>
  isSetupCode(text: string | undefined): boolean
  endSetup(): void
  throttle: Throttle
  hashQueue: HashQueue
  touches: Touches
  close(): void
}

/** What signing in and out needs of the board. */
export interface Realm {
  config: ServerConfig
  db: Database
  identity: Identity
}

/** @param localToken that of the board whose place this one takes, which goes on */
export async function createIdentity(
  config: ServerConfig,
  db: Database,
  seal: Seal,
  localToken: string = mint('svc_lt_'),
): Promise<Identity> {
  const touches = createTouches(db)
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
    holders: cachedReader(db),
    hasUsers: () => hasUsers(db),
    setupCode: () => setupCode,
    needsSetupCode: async peer => !(knowsItsPeers(config) && (await peer.isOwn())),
    isSetupCode: text => setupCode !== undefined && text !== undefined && isSame(text, setupCode),
    endSetup: () => {
      setupCode = undefined
    },
    throttle: createThrottle(db, seal),
    hashQueue: createHashQueue(),
    touches,
    close: () => {
      revocations.close()
      touches.close()
    },
  }
}

const newSetupCode = () => grouped(randomBytes(8))

/** Daemons that share the sealing key ask for the same code: whichever printed it, each of them takes it. */
const sharedSetupCode = (seal: Seal) => grouped(seal.derive('board setup code').subarray(0, 8))

const grouped = (bytes: Buffer) => bytes.toString('hex').match(/.{4}/g)!.join('-')

const isSame = (a: string, b: string) => timingSafeEqual(Buffer.from(hashToken(a)), Buffer.from(hashToken(b)))

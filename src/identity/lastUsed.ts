import { throttle } from '../async/throttle.ts'
import type { Database } from '../store/engine/database.ts'
import { setKeyLastUsed } from '../store/accounts/keys.ts'
import { extendSignInToken, setSignInUsed } from '../store/accounts/signInTokens.ts'

/** Times of last use of keys and sign-in tokens. Written in batches, after the responses. */
export interface LastUsedWriter {
  keyUsed(keyId: number, at: string): void
  signInUsed(tokenHash: string, at: string): void
  extend(tokenHash: string, expiresAt: string): void
  close(): void
}

const debounceMs = 100

export function createLastUsedWriter(db: Database): LastUsedWriter {
  let keys = new Map<number, string>()
  let tokens = new Map<string, string>()
  let signIns = new Map<string, string>()

  const write = () => {
    const [usedKeys, extendedTokens, usedSignIns] = [keys, tokens, signIns]
    keys = new Map()
    tokens = new Map()
    signIns = new Map()
    db.transaction(async tx => {
      for (const [keyId, at] of usedKeys) await setKeyLastUsed(tx, keyId, at)
      for (const [tokenHash, at] of usedSignIns) await setSignInUsed(tx, tokenHash, at)
      for (const [tokenHash, expiresAt] of extendedTokens) await extendSignInToken(tx, tokenHash, expiresAt)
    }).catch(() => {
      /* Ignored: the next request with the token records a newer time. */
    })
  }
  const soon = throttle(write, debounceMs)

  return {
    keyUsed: (keyId, at) => {
      keys.set(keyId, at)
      soon()
    },
    signInUsed: (tokenHash, at) => {
      signIns.set(tokenHash, at)
      soon()
    },
    extend: (tokenHash, expiresAt) => {
      tokens.set(tokenHash, expiresAt)
      soon()
    },
    close: soon.flush,
  }
}

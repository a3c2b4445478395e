import { setTimeout as delay } from 'node:timers/promises'
import type { ServerConfig } from '../config/server.ts'
import type { Database } from '../store/database.ts'
import { readLastSeq } from '../store/events.ts'

/** How often it looks by itself: seldom while the server tells of news, which not every one can. */
const lookMs = 50
const safetyMs = 1000
const againMs = 2000

/** Calls `wake` when other daemons have committed events. Returns the function that ends it. */
export function watchOtherDaemons(
  db: Database,
  database: NonNullable<ServerConfig['database']>,
  wake: () => void,
): () => void {
  const stopping = new AbortController()
  const { signal } = stopping
  let isTold = false
  const rest = (ms: number) =>
    delay(ms, undefined, { signal, ref: false }).catch(() => {
      /* It ends. */
    })
  const look = async () => {
    for (let known = -1; !signal.aborted; await rest(isTold ? safetyMs : lookMs)) {
      const last = await readLastSeq(db).catch(() => known)
      if (last !== known) wake()
      known = last
    }
  }
  const listen = async () => {
    for (; !signal.aborted; await rest(againMs)) {
      try {
        const reply = await fetch(newsAddress(database.url), {
          signal,
          headers: database.token === undefined ? {} : { authorization: `Bearer ${database.token}` },
        })
        isTold = reply.ok && reply.body !== null
        if (isTold) for await (const _ of reply.body!) wake()
        else await reply.body?.cancel()
      } catch {
        /* It goes on looking by itself, and asks again. */
      } finally {
        isTold = false
      }
    }
  }
  void look()
  void listen()
  return () => stopping.abort()
}

/** Where sqld tells of rows that are inserted. */
const newsAddress = (url: string): URL =>
  new URL('/beta/listen?table=events&action=insert', url.replace(/^libsql:/, 'https:').replace(/^ws/, 'http'))

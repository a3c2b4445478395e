import { setTimeout as delay } from 'node:timers/promises'
import type { ServerConfig } from '../config/server.ts'
import type { Database } from '../store/engine/database.ts'
import { readLastSeq } from '../store/server/events.ts'

/** The polling interval, and the longer interval while the server pushes changes. Not every server supports this. */
const pollMs = 50
const safetyMs = 1000
const retryMs = 2000

/** Calls `wake` when other daemons have committed events. Returns the function that stops this. */
export function watchOtherDaemons(
  db: Database,
  database: NonNullable<ServerConfig['database']>,
  wake: () => void,
): () => void {
  const stopping = new AbortController()
  const { signal } = stopping
  let isListening = false
  const rest = (ms: number) =>
    delay(ms, undefined, { signal, ref: false }).catch(() => {
      /* Shutting down. */
    })
  const poll = async () => {
    for (let known = -1; !signal.aborted; await rest(isListening ? safetyMs : pollMs)) {
      const last = await readLastSeq(db).catch(() => known)
      if (last !== known) wake()
      known = last
    }
  }
  const listen = async () => {
    for (; !signal.aborted; await rest(retryMs)) {
      try {
        const reply = await fetch(changeFeedUrl(database.url), {
          signal,
          headers: database.token === undefined ? {} : { authorization: `Bearer ${database.token}` },
        })
        isListening = reply.ok && reply.body !== null
        if (isListening) for await (const _ of reply.body!) wake()
        else await reply.body?.cancel()
      } catch {
        /* Polling continues, and the next round subscribes again. */
      } finally {
        isListening = false
      }
    }
  }
  void poll()
  void listen()
  return () => stopping.abort()
}

/** The endpoint where sqld announces inserted rows. */
const changeFeedUrl = (url: string): URL =>
  new URL('/beta/listen?table=events&action=insert', url.replace(/^libsql:/, 'https:').replace(/^ws/, 'http'))

import { readFileSync } from 'node:fs'

export const requestKinds = ['get', 'list', 'create', 'move'] as const
export type RequestKind = (typeof requestKinds)[number]
/** Processor time, in microseconds, of the board's process and of the libSQL server's. */
export interface Cost {
  board: number
  sqld: number
}

/** The measurements of `npm run scale -- --measure` on a machine with the real board and the real libSQL server. */
export interface Measured {
  at: string
  node: string
  machine: string
  requests: Record<RequestKind, Cost>
  /** An event to one more socket. */
  delivery: number
  /** One piece of an agent's message. */
  piece: Cost
  /** The cost of an idle daemon per second, and its memory. */
  idle: Cost & { daemonMegabytes: number }
  socketKilobytes: number
  sqld: { emptyMegabytes: number }
  namespace: {
    /** Memory of one more open namespace, and disk space of one with only the board's schema. */
    openKilobytes: number
    diskKilobytes: number
    /** The first request after the server has closed the namespace, and one to an open namespace. */
    coldMs: number
    coldMicros: number
    warmMs: number
    forkMs: number
    /** How many megabytes of a board per second are copied into a namespace, and written out as SQL. */
    copyMegabytesPerSec: number
    dumpMegabytesPerSec: number
  }
  /** Disk space of a row with its indexes. */
  bytes: { card: number; event: number; piece: number }
}

/** @throws Error if the file does not exist */
export const readMeasured = (file: string): Measured => JSON.parse(readFileSync(file, 'utf8')) as Measured

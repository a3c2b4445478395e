import { pino } from 'pino'
import { fchmodSync, fstatSync, openSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { makePrivateFolder } from '../config/folders.ts'
import type { Entry } from './entry.ts'

/** The log as lines of JSON in files: `board.log`, and older ones as `board.1.log` and so on. */
export interface Files {
  add(entry: Entry): void
  figures(): { dropped: number }
  /** Writes what is buffered before it returns. For when the process ends at once. */
  flushSync(): void
  /** Resolves once everything is written. */
  close(): Promise<void>
}

export interface FileLimits { mostFiles: number; mostBytesEach: number; mostBuffered: number }
export const fileLimits: FileLimits = { mostFiles: 5, mostBytesEach: 8 * 1024 * 1024, mostBuffered: 1024 * 1024 }
const againAfterMs = 5000

/**
 * Writes entries with pino to files that together never take more than `mostFiles` times `mostBytesEach`. A line goes to the next
 * file before it would make one too large: pino-roll, which looks at the size after writing, lets a burst grow a file without bound.
 * @param tell says what befell the files
 */
export function createFiles(folder: string, tell: (message: string) => void, limits: FileLimits = fileLimits): Files {
  const writer = createWriter(folder, tell, limits)
  const logger = pino({ base: undefined, timestamp: false, messageKey: 'message', formatters: { level: label => ({ level: label }) } }, { write: writer.write })
  return {
    ...writer,
    add: ({ level, message, requestId, fields, at, source }) => { logger[level](requestId === null ? { at, source, ...fields } : { at, source, requestId, ...fields }, message) },
  }
}

type Destination = ReturnType<typeof pino.destination>

function createWriter(folder: string, tell: (message: string) => void, limits: FileLimits) {
  const path = (number: number) => join(folder, number === 0 ? 'board.log' : `board.${number}.log`)
  const state = { destination: undefined as Destination | undefined, size: 0, dropped: 0, isBroken: false, notBefore: 0 }
  const fail = (error: unknown) => {
    if (!state.isBroken) tell(`The log's file cannot be written: ${(error as Error).message}`)
    state.isBroken = true
  }
  const open = () => {
    try {
      makePrivateFolder(folder)
      const fd = openSync(path(0), 'a', 0o600)
      fchmodSync(fd, 0o600)
      state.size = fstatSync(fd).size
      state.destination = pino.destination({ dest: fd, sync: false, maxLength: limits.mostBuffered })
      state.destination.on('drop', () => { state.dropped++ }).on('write', () => { state.isBroken = false }).on('error', fail)
    } catch (error) {
      fail(error)
      state.notBefore = performance.now() + againAfterMs
    }
  }
  /** What the older file still has buffered is written to it under its new name. */
  const rotate = () => {
    state.destination!.end()
    state.destination = undefined
    try {
      rmSync(path(limits.mostFiles - 1), { force: true })
      for (let number = limits.mostFiles - 2; number >= 0; number--) if (statSync(path(number), { throwIfNoEntry: false })) renameSync(path(number), path(number + 1))
    } catch (error) {
      fail(error)
      rmSync(path(0), { force: true })
    }
    open()
  }
  open()
  return {
    write: (line: string) => {
      const bytes = Buffer.byteLength(line)
      if (!state.destination && performance.now() > state.notBefore) open()
      if (state.destination && state.size > 0 && state.size + bytes > limits.mostBytesEach) rotate()
      if (!state.destination) return void state.dropped++
      const { dropped } = state
      state.destination.write(line)
      if (state.dropped === dropped) state.size += bytes
    },
    figures: () => ({ dropped: state.dropped }),
    flushSync: () => { try { state.destination?.flushSync() } catch { /* It cannot be written. */ } },
    close: () => new Promise<void>(resolve => {
      if (!state.destination) return resolve()
      state.destination.once('close', resolve).once('error', () => resolve())
      state.destination.end()
      state.destination = undefined
    }),
  }
}

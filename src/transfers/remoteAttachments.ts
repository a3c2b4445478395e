import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Problem } from '../contract/errors.ts'
import type { ContentFile } from './contentPieces.ts'

/** An attachment whose file is on another machine: its size in bytes, its hash in hexadecimal, and the file name. */
export interface RemoteAttachment {
  id: number
  projectId: number
  size: number
  sha256: string
  storedAs: string
}

/** A machine with the files of projects, and the connection to it while a daemon runs there. */
export interface Machine {
  name: string
  /**
   * Writes an attachment's file to a path. Returns false if it does not exist.
   * @throws Problem MACHINE_UNAVAILABLE, or the signal's reason
   */
  fetch: ((file: RemoteAttachment, path: string, signal: AbortSignal) => Promise<boolean>) | undefined
}
/** Returns the machine with a project's files. Undefined if there is only one machine. */
export type MachineOf = (projectId: number) => Promise<Machine | undefined>

/** An attachment without its file, and the machine that should have it. */
export interface MissingFile {
  id: number
  storedAs: string
  machine: string | null
}

const atOnce = 4

/** Fetches files of other machines into a folder. An unreachable machine is not contacted for the remaining files. */
export async function bringFiles(
  machineOf: MachineOf,
  away: readonly RemoteAttachment[],
  folder: string,
  signal: AbortSignal,
): Promise<{ files: ContentFile[]; missing: MissingFile[] }> {
  const brought = new Map<number, ContentFile>()
  const missing: MissingFile[] = []
  for (const [projectId, files] of byProject(away)) {
    const machine = await machineOf(projectId)
    if (machine?.fetch) await fetchAttachment(machine.fetch, files, folder, brought, signal)
    for (const { id, storedAs } of files)
      if (!brought.has(id)) missing.push({ id, storedAs, machine: machine?.name ?? null })
  }
  return { files: [...brought.values()], missing }
}

async function fetchAttachment(
  fetch: NonNullable<Machine['fetch']>,
  files: readonly RemoteAttachment[],
  folder: string,
  brought: Map<number, ContentFile>,
  signal: AbortSignal,
): Promise<void> {
  const left = [...files]
  const work = async () => {
    for (let file = left.shift(); file; file = left.shift()) {
      const path = join(folder, file.storedAs)
      // A file of another size might be there, which shares its data with the linked one.
      await rm(path, { force: true })
      if (await fetch(file, path, signal)) brought.set(file.id, { id: file.id, size: file.size, path })
    }
  }
  const results = await Promise.allSettled(
    Array.from({ length: atOnce }, () =>
      work().catch((error: unknown) => {
        left.length = 0
        if (!(error instanceof Problem && error.code === 'MACHINE_UNAVAILABLE')) throw error
      }),
    ),
  )
  for (const result of results) if (result.status === 'rejected') throw result.reason
}

function byProject(away: readonly RemoteAttachment[]): Map<number, RemoteAttachment[]> {
  const projects = new Map<number, RemoteAttachment[]>()
  for (const file of away) {
    const files = projects.get(file.projectId) ?? []
    files.push(file)
    projects.set(file.projectId, files)
  }
  return projects
}

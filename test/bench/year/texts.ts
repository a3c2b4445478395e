import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The sources of transcript pieces: agents' messages and tool outputs. Plain ASCII, so that it can be cut anywhere. */
export interface Texts {
  prose: Buffer
  output: Buffer
}

/** This repository's own documents and sources, which compress and vary like real transcripts. */
export const readTexts = (root: string): Texts => ({
  prose: gather(join(root, 'docs'), '.md'),
  output: Buffer.concat(['src', 'daemon', 'test/routes', 'cli'].map(folder => gather(join(root, folder), '.ts'))),
})

const gather = (folder: string, ending: string): Buffer =>
  Buffer.from(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter(entry => entry.isFile() && entry.name.endsWith(ending))
      .map(entry => join(entry.parentPath, entry.name))
      .sort()
      .map(path => readFileSync(path, 'utf8').replace(/[^\n\x20-\x7e]/g, '-'))
      .join('\n'),
    'latin1',
  )

import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  beginState,
  commitState,
  finishState,
  removeRubbish,
  type Prepared,
} from '../../src/backups/replaceDatabase.ts'

let dataDir: string
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'board-swap-'))
  put('', 'old', [
    'board.db',
    'board.db-wal',
    'board.db-shm',
    'attachments/one',
    'attachments/two',
    'secret.key',
    'config.json',
  ])
})
afterEach(() => rmSync(dataDir, { recursive: true, force: true }))

function put(folder: string, text: string, names: readonly string[]): void {
  mkdirSync(join(dataDir, folder, 'attachments'), { recursive: true })
  for (const name of names) writeFileSync(join(dataDir, folder, name), text)
}

/** A new state that is ready to be installed. */
async function ready(withKey: boolean): Promise<Prepared> {
  const folder = await beginState(dataDir)
  put(folder, 'new', ['board.db', 'attachments/one', 'attachments/three', ...(withKey ? ['secret.key'] : [])])
  return { folder, withKey }
}

const content = () =>
  Object.fromEntries(
    readdirSync(dataDir, { recursive: true, withFileTypes: true })
      .filter(entry => entry.isFile())
      .map(entry => {
        const path = join(entry.parentPath, entry.name)
        return [path.slice(dataDir.length + 1), readFileSync(path, 'utf8')]
      }),
  )
const old = {
  'board.db': 'old',
  'board.db-wal': 'old',
  'board.db-shm': 'old',
  'attachments/one': 'old',
  'attachments/two': 'old',
  'secret.key': 'old',
  'config.json': 'old',
}
const replaced = (key: 'old' | 'new') => ({
  'board.db': 'new',
  'attachments/one': 'new',
  'attachments/three': 'new',
  'secret.key': key,
  'config.json': 'old',
})

async function finish(): Promise<void> {
  await finishState(dataDir)
  await removeRubbish(dataDir)
}

it('before the step, files of the new state have no effect', async () => {
  await ready(true)
  writeFileSync(join(dataDir, 'restore.json.new'), '{"from"')
  await finish()
  expect(content()).toEqual(old)
})

it.each([
  [true, 'new'],
  [false, 'old'],
] as const)('after the step the new state is in place, with its key %s', async (withKey, key) => {
  await commitState(dataDir, await ready(withKey))
  await finish()
  expect(content()).toEqual(replaced(key))
})

it('the old state is kept on request', async () => {
  await commitState(dataDir, await ready(true), 'damaged-2026-01-01')
  await finish()
  const kept = Object.fromEntries(
    Object.entries(old)
      .filter(([name]) => name !== 'config.json')
      .map(([name, text]) => [`damaged-2026-01-01/${name}`, text]),
  )
  expect(content()).toEqual({ ...replaced('new'), ...kept })
})

describe('an interrupted step is finished by the next command', () => {
  const moves = (folder: string, to: string) =>
    [
      ...['board.db', 'board.db-wal', 'board.db-shm'].map(name => [name, `${to}/${name}`]),
      [`${folder}/board.db`, 'board.db'],
      ['attachments', `${to}/attachments`],
      [`${folder}/attachments`, 'attachments'],
      ['secret.key', `${to}/secret.key`],
      [`${folder}/secret.key`, 'secret.key'],
    ] as Array<[string, string]>

  it.each([0, 1, 2, 3, 4, 5, 6, 7, 8])('after %i moves', async count => {
    const prepared = await ready(true)
    await commitState(dataDir, prepared)
    const to = prepared.folder.replace('restoring', 'replaced')
    if (count > 0) mkdirSync(join(dataDir, to))
    for (const [from, there] of moves(prepared.folder, to).slice(0, count))
      renameSync(join(dataDir, from), join(dataDir, there))
    // The new database has its own log by the time it is opened.
    if (count > 3) writeFileSync(join(dataDir, 'board.db-wal'), 'new')
    await finish()
    expect(content()).toEqual({ ...replaced('new'), ...(count > 3 && { 'board.db-wal': 'new' }) })
    await finish()
    expect(existsSync(join(dataDir, 'restore.json'))).toBe(false)
  })
})

it('a journal with paths outside is rejected', async () => {
  mkdirSync(join(dataDir, 'elsewhere'))
  for (const journal of [
    { from: '../elsewhere', to: 'replaced-1', withKey: false },
    { from: 'restoring-0123456789abcdef', to: '../x', withKey: false },
    { from: 'elsewhere', to: 'replaced-1', withKey: true },
  ]) {
    writeFileSync(join(dataDir, 'restore.json'), JSON.stringify(journal))
    await expect(finishState(dataDir)).rejects.toThrow()
  }
  rmSync(join(dataDir, 'restore.json'))
  expect(content()).toEqual(old)
})

import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, expect, test } from 'vitest'
import { findProjectRepository } from '../../src/git/checkoutState.ts'
import { isRecorded, recordFolders, type FolderRecords } from '../../src/git/folderRecord.ts'

const root = realpathSync(mkdtempSync(join(tmpdir(), 'folder-record-')))
afterAll(() => rmSync(root, { recursive: true, force: true }))

const path = join(root, 'project')
const init = (folder: string) => execFileSync('git', ['init', '-q', '--template=', folder])
beforeEach(() => {
  rmSync(path, { recursive: true, force: true })
  mkdirSync(path)
})
const find = (records: FolderRecords) => findProjectRepository({ path, folderRecords: JSON.stringify(records) })
/** The folder moves, and another file is in its place. */
const replace = (make: () => void) => {
  rmSync(join(root, 'was'), { recursive: true, force: true })
  renameSync(path, join(root, 'was'))
  make()
}

test.each<[what: string, before: () => void, change: () => void, problem: string, code?: string]>([
  ['another folder', () => {}, () => replace(() => mkdirSync(path)), 'is not the folder that was selected'],
  ['a link to the folder', () => {}, () => replace(() => symlinkSync(join(root, 'was'), path)), 'is not the folder'],
  ['a new repository', () => {}, () => init(path), 'was not in a Git repository'],
  [
    'a removed repository',
    () => init(path),
    () => rmSync(join(path, '.git'), { recursive: true }),
    'is no longer in a Git repository',
    'NOT_A_GIT_REPOSITORY',
  ],
  [
    'another repository',
    () => init(path),
    () => {
      renameSync(join(path, '.git'), join(path, 'was'))
      init(path)
    },
    'is not the one that was selected',
  ],
])('%s is rejected until it is recorded', async (_, before, change, problem, code = 'CONFLICT') => {
  before()
  const records = await recordFolders([path])
  await find(records)
  change()
  await expect(find(records)).rejects.toMatchObject({ code, message: expect.stringContaining(problem) })
  await find(await recordFolders([path]))
})

test('a folder without a record is accepted, and a missing one is not recorded', async () => {
  expect(await find({})).toBeUndefined()
  expect(isRecorded({ path, folderRecords: '{}' })).toBe(false)
  expect(await recordFolders([join(root, 'missing')])).toEqual({})
})

test('a device number is compared only if the file system keeps it', async () => {
  const { [path]: record } = await recordFolders([path])
  const withDevice = (device: string | null) => ({ [path]: { ...record!, folder: { ...record!.folder, device } } })
  await find(withDevice(null))
  await expect(find(withDevice('1'))).rejects.toMatchObject({ code: 'CONFLICT' })
})

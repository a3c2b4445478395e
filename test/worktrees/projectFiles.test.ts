import { realpathSync } from 'node:fs'
import { afterAll, expect, it } from 'vitest'
import { createSandbox } from '../../src/sandbox/sandbox.ts'
import { readProjectFile } from '../../src/worktrees/projectFiles.ts'
import { createWorktrees } from '../../src/worktrees/worktrees.ts'

const worktrees = createWorktrees(createSandbox({ mode: 'off' }))
afterAll(() => worktrees.close())

/** A file that is old enough to be cached after the first read. */
const [path, name] = [realpathSync('.'), 'LICENSE']
const read = (folderRecords: object) =>
  readProjectFile(worktrees, { path, folderRecords: JSON.stringify(folderRecords) }, name, 1024 * 1024)

it('reads a file as soon as a user has confirmed the folder, even if the file is unchanged', async () => {
  const otherFolder = { folder: { path, device: null, inode: '0' }, repository: null }
  expect(await read({ [path]: otherFolder })).toMatchObject({
    content: null,
    problem: expect.stringContaining('selected'),
  })
  expect(await read({})).toMatchObject({ problem: null })
  expect([...worktrees.keptFiles.keys()]).toEqual([`${path}/${name}`])
})

import { chmodSync, existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { commit, git, useProjects, write, type TestCard, type TestProject } from './cards.ts'

/*
 * A server that is killed during a merge leaves files of the project's folder changed, or the branch moved with the index of before.
 * The next merge completes this, and keeps local changes.
 */

const projects = useProjects()
let project: TestProject
let card: TestCard
beforeEach(async () => {
  project = await projects.project()
  commit(project.path, 'changed', 'before\n')
  commit(project.path, 'deleted', 'before\n')
  card = await project.card()
  const { cwd } = await card.start()
  commit(cwd, 'changed', 'after\n')
  git(cwd, 'rm', '-q', 'deleted')
  commit(cwd, 'added', 'new\n')
  write(cwd, 'folder/script', '#!/bin/sh\n')
  chmodSync(join(cwd, 'folder/script'), 0o755)
  symlinkSync('added', join(cwd, 'link'))
})
const status = () => git(project.path, 'status', '--porcelain')

test('files that a broken-off merge has left do not count as local changes', async () => {
  writeFileSync(join(project.path, 'changed'), 'after\n')
  rmSync(join(project.path, 'deleted'))
  writeFileSync(join(project.path, 'added'), 'new\n')
  write(project.path, 'folder/script', '#!/bin/sh\n')
  chmodSync(join(project.path, 'folder/script'), 0o755)
  symlinkSync('added', join(project.path, 'link'))
  expect(await card.merge()).toMatchObject({ merged: true })
  expect(status()).toBe('')
})

test('a file with another content or mode is a local change', async () => {
  writeFileSync(join(project.path, 'added'), 'mine\n')
  await expect(card.merge()).rejects.toMatchObject({ code: 'WORKTREE_DIRTY' })
  rmSync(join(project.path, 'added'))
  write(project.path, 'folder/script', '#!/bin/sh\n')
  await expect(card.merge()).rejects.toMatchObject({ code: 'WORKTREE_DIRTY' })
  rmSync(join(project.path, 'folder/script'))
  writeFileSync(join(project.path, 'changed'), 'mine\n')
  await expect(card.merge()).rejects.toMatchObject({ code: 'WORKTREE_DIRTY' })
  expect(readFileSync(join(project.path, 'changed'), 'utf8')).toBe('mine\n')
  git(project.path, 'checkout', '-q', 'changed')
  expect(await card.merge()).toMatchObject({ merged: true })
})

test('an index that was written before the kill is installed if the branch has moved', async () => {
  const before = readFileSync(join(project.path, '.git/index'))
  const { commit: merged } = await card.merge()
  const after = readFileSync(join(project.path, '.git/index'))
  writeFileSync(join(project.path, '.git/index'), before)
  expect(status()).not.toBe('')
  writeFileSync(join(project.path, '.git/index.board'), after)
  writeFileSync(join(project.path, '.git/index.lock'), `board 4194304 0\n${merged}\n`)
  const other = await project.card()
  commit((await other.start()).cwd, 'other', 'other\n')
  expect(await other.merge()).toMatchObject({ merged: true })
  expect(status()).toBe('')
  expect(existsSync(join(project.path, '.git/index.lock'))).toBe(false)
})

import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { programMounts } from '../../src/sandbox/programMounts.ts'

test('folders of the search path are mounted with their link targets, and inaccessible ones are omitted', async () => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'board-programs-')))
  const [tools, linked, closed] = ['tools', 'linked', 'closed'].map(name => join(root, name)) as [
    string,
    string,
    string,
  ]
  mkdirSync(tools)
  mkdirSync(join(closed, 'tools'), { recursive: true })
  symlinkSync(tools, linked)
  symlinkSync(join(root, 'missing'), join(root, 'dangling'))
  // As root, no folder is inaccessible: then the other entries cover this case.
  chmodSync(closed, 0)
  try {
    const path = [linked, join(root, 'missing'), join(root, 'dangling'), join(closed, 'tools')]
    const targets = (await programMounts([], { PATH: path.join(':') }, homedir())).map(({ target }) => target)
    const expected = process.getuid!() === 0 ? [linked, tools, join(closed, 'tools')] : [linked, tools]
    expect(targets.filter(target => target.startsWith(root)).sort()).toEqual(expected.sort())
  } finally {
    chmodSync(closed, 0o700)
    rmSync(root, { recursive: true })
  }
})

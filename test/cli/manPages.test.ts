import { execFileSync, spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import { loadAll } from '../../cli/parsing/loadCommands.ts'
import { createProgram } from '../../cli/program.ts'
import { nameOf } from '../support/commands/commandWords.ts'
import { below } from '../support/commands/shellLines.ts'
import { programs } from '../support/commands/programs.ts'

const folder = resolve('dist/man')
let pages: Record<string, string>

beforeAll(() => {
  pages = Object.fromEntries(readdirSync(folder).map(name => [name, readFileSync(join(folder, name), 'utf8')]))
})

const has = (program: string): boolean => spawnSync(program, ['--version']).error === undefined

describe('the man pages', () => {
  test('include one of the program and one of each command, and are all in the package', async () => {
    const program = await loadAll(createProgram(programs))
    const nouns = program.commands.map(command => command.name()).filter(name => name !== 'help')
    expect(Object.keys(pages).toSorted()).toEqual(['board.1', ...nouns.map(name => `board-${name}.1`)].toSorted())
    expect(manifest.man.toSorted()).toEqual(
      Object.keys(pages)
        .map(name => `dist/man/${name}`)
        .toSorted(),
    )
    for (const command of below(program).filter(each => each.commands.length === 0 && each.name() !== 'help')) {
      const page = pages[`board-${nameOf(command).split(' ')[0]}.1`]!
      expect(page, nameOf(command)).toContain(`board ${nameOf(command)}`.replaceAll('-', '\\-'))
      for (const { long } of command.options) expect(page).toContain(long!.replaceAll('-', '\\-'))
    }
  })

  test('use only existing requests, and none by accident', () => {
    const known = /^\.(TH|SH|SS|TP|PP|BR|B|I|nf|fi|br)( |$)/
    for (const [name, text] of Object.entries(pages)) {
      const lines = text.split('\n')
      expect(lines[0], name).toMatch(/^\.TH "BOARD/)
      expect(lines.slice(1, 3), name).toEqual(['.SH NAME', expect.stringMatching(/^board\S* \\- \S/)])
      expect(
        lines.filter(line => /^[.']/.test(line) && !known.test(line)),
        name,
      ).toEqual([])
    }
  })

  test('are formatted without warnings, and show the intended text', context => {
    if (!has('groff')) return context.skip('groff is not installed')
    const paths = Object.keys(pages).map(name => join(folder, name))
    const { stderr } = spawnSync('groff', ['-man', '-Tutf8', '-ww', '-z', ...paths], { encoding: 'utf8' })
    expect(stderr).toBe('')
    const shown = execFileSync('groff', ['-man', '-Tascii', '-P-cbou', join(folder, 'board-cards.1')], {
      encoding: 'utf8',
    })
    expect(shown).toMatch(/^ +board cards list \[options\]$/m)
    expect(shown).toContain("board cards list --template '#{{id}} {{title}}'")
  })
})

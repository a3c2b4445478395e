import { readFileSync } from 'node:fs'
import { parseAst } from 'vitest/node'
import { expect, test } from 'vitest'
import { mutate } from './mutants.ts'
import { folders, readOptions, sourcesIn } from './options.ts'

const source = `let told = []
const limit = (cards) => cards.filter(card => card.place < 3 && !card.gone)
if (told?.length === 0) throw new Error('nothing was reported');
({ told } = { told: [\`WHERE id = ? AND place > \${1}\`] })
void [].map(() => undefined)
return { told, limit }`
/** The result of the source with one active mutant, or with none. */
const run = (awake?: string): { told: string[]; limit: (cards: object[]) => object[] } | string => {
  const mutated = (id: string) => id === awake
  try {
    return new Function('globalThis', mutate('a.ts', `(() => {${source}})()`).code.replace(/^;?/, 'return '))({
      mutated,
    })
  } catch (error) {
    return (error as Error).message
  }
}

test('a source with only inactive mutants behaves as before', () => {
  expect(run()).toBe('nothing was reported')
})

test('each mutant is a different mistake', () => {
  const { mutants } = mutate('a.ts', `(() => {${source}})()`)
  expect(mutants.map(({ was, is }) => `${was} -> ${is}`)).toEqual(
    expect.arrayContaining([
      'card.place < 3 -> (card.place ) <= ( 3)',
      '!card.gone -> card.gone',
      'cards.filter(card => card.place < 3 && !card.gone) -> cards',
      'told?.length -> told.length',
      'told?.length === 0 -> false',
      'WHERE id = ? AND place >  -> WHERE id = ? OR place > ',
      'WHERE id = ? AND place >  -> WHERE id <> ? AND place > ',
      "throw new Error('nothing was reported'); -> ",
    ]),
  )
  expect(mutants.filter(({ was, is }) => was === is)).toEqual([])
  const silent = mutants.find(({ was }) => was.startsWith('throw'))!
  expect(run(silent.id)).toMatchObject({ told: ['WHERE id = ? AND place > 1'] })
  expect(new Set(mutants.map(({ id }) => id)).size).toBe(mutants.length)
})

test('every source can be parsed with all its mutants in it', () => {
  for (const file of folders.flatMap(sourcesIn)) {
    const { code, mutants } = mutate(file, readFileSync(file, 'utf8'))
    expect(() => parseAst(code, { lang: 'ts' }), file).not.toThrow()
    for (const { id } of mutants) expect(code.split(`globalThis.mutated(${JSON.stringify(id)})`).length, id).toBe(2)
  }
})

test('invalid options are rejected by name', () => {
  expect(() => readOptions(['--sample', '101'])).toThrow('--sample must be a number of at most 100.')
  expect(() => readOptions(['src/contract'])).toThrow('src/contract is not in src/domain, src/identity, src/store.')
  expect(() => readOptions(['src/store/none.ts'])).toThrow('src/store/none.ts is not there.')
  expect(readOptions(['--help'])).toBe('help')
})

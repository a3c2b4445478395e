/**
 * Reports texts that contain a construction that docs/style.md bans: in comments, strings and Markdown. Exits 1 if it finds an error.
 *   node test/sources/checkStyle.mjs [--warn] [path ...]
 * --warn also prints the findings that need a person's judgment.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** Texts that quote banned constructions, that other programs wrote, or that cannot change. */
const ignored = ['docs/style.md', 'test/sources/checkStyle.mjs', 'test/fixtures/**']
const extensions = ['md', 'ts', 'tsx', 'mjs', 'js']

const words = process.argv.slice(2)
const printsWarnings = words.includes('--warn')
const paths = words.filter(word => word !== '--warn')
const rules = readRules()
const findings = listFiles().flatMap(checkFile)
const errors = findings.filter(({ level }) => level === 'error')
for (const { level, file, line, text, advice } of printsWarnings ? findings : errors)
  process.stdout.write(`${level} ${file}:${line}: ${text.trim().slice(0, 110)} (${advice})\n`)
if (errors.length > 0 || printsWarnings)
  process.stdout.write(`${errors.length} errors, ${findings.length - errors.length} warnings\n`)
process.exitCode = errors.length > 0 ? 1 : 0

/** Returns the rules of the block in docs/style.md: one per line, with a level, a pattern and advice. */
function readRules() {
  const block = readFileSync('docs/style.md', 'utf8').split('```text\n')[1].split('```')[0]
  return block
    .trim()
    .split('\n')
    .map(line => {
      const [, level, source, flags, advice] = /^(error|warning) +\/(.+)\/(i?) +(.+)$/.exec(line)
      return { level, pattern: new RegExp(source, flags), advice }
    })
}

function listFiles() {
  const wanted = paths.length > 0 ? paths : ['.']
  const files = execFileSync('git', ['ls-files', '--', ...wanted, ...ignored.map(each => `:(exclude,glob)${each}`)], {
    encoding: 'utf8',
  })
  return files.split('\n').filter(file => extensions.includes(file.split('.').at(-1)))
}

function checkFile(file) {
  const texts = file.endsWith('.md') ? markdownTexts : sourceTexts
  return [...texts(readFileSync(file, 'utf8').split('\n'))].flatMap(([line, text]) =>
    rules.filter(({ pattern }) => pattern.test(text)).map(({ level, advice }) => ({ level, file, line, text, advice })),
  )
}

/** The lines outside code blocks, without code spans and addresses. */
function* markdownTexts(lines) {
  let isCode = false
  for (const [at, line] of lines.entries()) {
    if (/^\s*```/.test(line)) isCode = !isCode
    else if (!isCode)
      yield [
        at + 1,
        withoutCode(line)
          .replace(/https?:\S+/g, '…')
          .replace(/\]\([^)]*\)/g, ']'),
      ]
  }
}

/** The comments, without code spans, and the strings of three words or more, without expressions. */
function* sourceTexts(lines) {
  for (const [at, line] of lines.entries()) {
    const comment = /^\s*(?:\/\/|\/?\*\*?)\s?(.*)$/.exec(line)?.[1] ?? /\s\/\/ (.*)$/.exec(line)?.[1]
    if (comment !== undefined) yield [at + 1, withoutCode(comment)]
    else
      for (const [, , text] of line.matchAll(/(['"`])((?:(?!\1)[^\\]|\\.)*)\1/g))
        if (/\w+ \w+ \w+/.test(text)) yield [at + 1, text.replace(/\$\{[^}]*\}?/g, '…')]
  }
}

function withoutCode(text) {
  return text.replace(/`[^`]*`/g, '…')
}

/**
 * Collects the license texts of the bundled packages. Some packages are published without the full text: `NAME.txt` next to this file
 * has the text from the package's repository. promise-limit has no license file there either. Its text consists of the license that
 * its package.json declares, its author, and the years of its commits.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'

/** A phrase that only the full text of a license contains. A short notice that refers to the license does not match. */
const fullText = {
  'Apache-2.0': /TERMS AND CONDITIONS FOR USE, REPRODUCTION, AND DISTRIBUTION/,
  'BSD-2-Clause': /Redistribution and use in source and binary forms/,
  'BSD-3-Clause': /Redistribution and use in source and binary forms/,
  ISC: /Permission to use, copy, modify,? and(?:\/or)? distribute this software/,
  MIT: /Permission is hereby granted, free of charge/,
  'OFL-1.1': /SIL OPEN FONT LICENSE/,
  Unlicense: /This is free and unencumbered software/,
}
const isLicense = name => /^(?:(?:un)?licen[cs]e|notice|copying|third-party-licenses)(?:[.-].*)?$/i.test(name)

/**
 * Returns one text with the licenses and notices of all packages that the input files belong to.
 * @throws Error that names each package without the full text of its license
 */
export function licenseTexts(inputs) {
  const packages = new Set(inputs.flatMap(path => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? []))
  const sections = [...packages].toSorted().map(readSection)
  const incomplete = sections.filter(({ isComplete }) => !isComplete).map(({ title }) => title)
  if (incomplete.length > 0)
    throw new Error(`The full license text is missing: ${incomplete.join(', ')}. Add it as src/licenses/NAME.txt.`)
  return sections.map(({ title, text }) => `${title}\n\n${text}`).join(`\n${'-'.repeat(80)}\n\n`)
}

function readSection(path) {
  const { name, version, license } = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8'))
  const added = join(import.meta.dirname, `${name}.txt`)
  const files = [...licenseFiles(path), ...(existsSync(added) ? [added] : [])]
  const text = files.map(readText).join('\n')
  return { title: `${name} ${version} (${license})`, text, isComplete: hasFullText(`${license}`, text) }
}

/** Checks the text against an SPDX expression: one license of an OR, and all of an AND. */
const hasFullText = (expression, text) =>
  expression.split(/ OR /).some(choice =>
    choice
      .match(/[\w.-]+/g)
      .filter(id => id !== 'AND')
      .every(id => fullText[id]?.test(text)),
  )

/** The license files of a package and of the code of other packages that it contains, without its own node_modules. */
function licenseFiles(folder) {
  const entries = readdirSync(folder, { withFileTypes: true }).toSorted((a, b) => (a.name < b.name ? -1 : 1))
  const files = entries.filter(entry => entry.isFile() && isLicense(entry.name))
  const folders = entries.filter(entry => entry.isDirectory() && !/^(?:node_modules$|\.)/.test(entry.name))
  return [
    ...files.map(({ name }) => join(folder, name)),
    ...folders.flatMap(({ name }) => licenseFiles(join(folder, name))),
  ]
}

const readText = path => (path.endsWith('.gz') ? gunzipSync(readFileSync(path)) : readFileSync(path)).toString()

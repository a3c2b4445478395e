/**
 * Makes objects of values in the order of their names, by a literal that is compiled once: an object that grows name by name
 * becomes a hash table beyond a dozen (6 kB for a card, and what reads it is slower).
 */
export function objectMaker(names: readonly string[]): (values: ArrayLike<unknown>) => object {
  const fields = names.map((name, at) => `${JSON.stringify(name)}:values[${at}]`)
  return new Function('values', `return{${fields.join()}}`) as (values: ArrayLike<unknown>) => object
}

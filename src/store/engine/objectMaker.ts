/**
 * Returns a function that creates objects from values in the order of `names`. The function is compiled with an object literal. An object
 * that grows field by field becomes a hash table beyond a dozen fields, which takes 6 kB for a card and is slower to read.
 */
export function objectMaker(names: readonly string[]): (values: ArrayLike<unknown>) => object {
  const fields = names.map((name, at) => `${JSON.stringify(name)}:values[${at}]`)
  return new Function('values', `return{${fields.join()}}`) as (values: ArrayLike<unknown>) => object
}

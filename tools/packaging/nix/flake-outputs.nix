# What the flake asks of nixpkgs for each system, with a nixpkgs that only takes down what it is asked.
let
  systems = list: make: builtins.listToAttrs (map (name: { inherit name; value = make name; }) list);
  nixpkgs = {
    lib.genAttrs = systems;
    legacyPackages = systems [ "x86_64-linux" "aarch64-linux" "x86_64-darwin" "aarch64-darwin" ] (system: {
      rustPlatform.buildRustPackage = package: package;
      protobuf = "protobuf";
    });
  };
  outputs = (import ../../../flake.nix).outputs { self = ../../..; inherit nixpkgs; };
  describe = system:
    let package = outputs.packages.${system}.default;
    in
    assert builtins.pathExists package.cargoLock.lockFile;
    "${system}: ${package.pname} ${package.version}";
in
map describe (builtins.attrNames outputs.packages)

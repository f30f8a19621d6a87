use super::*;

#[test]
fn yaml_round_trips() {
    for json in [
        "null",
        "1.5",
        r#"{"a":{"b":[1,{"c":[]},{}],"d":null}}"#,
        r#"{"no":"yes","n":"null","one":"1","float":"1.0","empty":"","octal":"0777","time":"2020-01-01"}"#,
        r#"{"text":"two\nlines\n","tab":"a\tb","colon":"a: b","hash":"a #b","star":"*x","dash":"- a"}"#,
        r#"{"y":"y","on":"off","True":"TRUE","~":"~",".inf":".nan","0x1f":"0x1f","1e3":"1e3","1_000":"1_000"}"#,
        r#"{"0b1":"0b1","0o7":"0o7","1.":"1.","+1":"+.5","<<":"<<","-":"?","&a":"!b","%":"@"}"#,
        r#"[[1,2],[[]],"a"]"#,
        r#"{"a":1e+30,"b":-0.5,"c":9223372036854775807}"#,
    ] {
        let value = Value::from_json(json).unwrap();
        let yaml = value.to_yaml();
        let back = Value::from_yaml(&yaml).unwrap_or_else(|e| panic!("{e}\n{yaml}"));
        assert!(back.strict_eq(&value), "{json}\n{yaml}");
    }
}

#[test]
fn yaml_is_written_in_the_style_of_kubectl() {
    let value =
        Value::from_json(r#"{"spec":{"ports":[{"name":"a","port":1}],"x":{}},"kind":"Pod"}"#);
    assert_eq!(
        value.unwrap().to_yaml(),
        "kind: Pod\nspec:\n  ports:\n  - name: a\n    port: 1\n  x: {}\n"
    );
}

#[test]
fn anchors_merge_keys_and_tags_are_resolved() {
    let text = "base: &b {x: 1, y1: 2}\nuse: {<<: *b, x: 3}\nlist: {<<: [{a: 1}, {a: 2, c: 3}]}\n\
                same: *b\ns: !!str 12\nf: !!float 1\n1: one\nyes: two\n";
    let json = r#"{"1":"one","base":{"x":1,"y1":2},"f":1,"list":{"a":1,"c":3},"s":"12","same":{"x":1,"y1":2},"true":"two","use":{"x":3,"y1":2}}"#;
    assert_eq!(Value::from_yaml(text).unwrap().to_json(), json);
}

#[test]
fn a_stream_may_contain_several_documents() {
    let all = Value::all_from_yaml("---\na: 1\n---\n# nothing\n---\n- 2\n").unwrap();
    assert_eq!(
        all.iter().map(Value::to_json).collect::<Vec<_>>(),
        [r#"{"a":1}"#, "[2]"]
    );
    assert_eq!(
        Value::from_yaml("a: 1\n---\nb: 1\n"),
        Err(Error::Documents { found: 2 })
    );
    assert_eq!(Value::from_yaml(""), Ok(Value::Null));
}

#[test]
fn nesting_is_bounded() {
    let flow = |n: usize| "[".repeat(n) + &"]".repeat(n);
    let block = |n: usize| {
        (0..n)
            .map(|i| format!("{}a:\n", " ".repeat(i)))
            .collect::<String>()
    };
    for text in [flow(MAX_DEPTH), block(MAX_DEPTH), "- ".repeat(MAX_DEPTH)] {
        let value = Value::from_yaml(&text).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(Value::from_yaml(&value.to_yaml()).unwrap(), value);
    }
    for text in [
        block(5_000),
        "- ".repeat(10_000),
        flow(MAX_DEPTH + 1),
        flow(10_000),
    ] {
        let error = Value::from_yaml(&text).unwrap_err();
        assert!(
            matches!(error, Error::TooDeep | Error::Yaml { .. }),
            "{error}"
        );
    }
    let mut aliases = String::from("a0: &a0 [x]\n");
    for i in 1..=MAX_DEPTH {
        aliases += &format!("a{i}: &a{i} [*a{}]\n", i - 1);
    }
    assert_eq!(Value::from_yaml(&aliases), Err(Error::TooDeep));
}

#[test]
fn hostile_input_is_rejected() {
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for i in 1..30 {
        let alias = format!("*a{}", i - 1);
        bomb += &format!("a{i}: &a{i} [{}]\n", [alias.as_str(); 10].join(","));
    }
    for (text, message) in [
        (
            bomb.as_str(),
            "not valid YAML at line 7 column 22: the document has more than 4000000 nodes with its aliases expanded",
        ),
        (
            "a: .nan",
            "not valid YAML at line 1 column 4: number .nan is not finite: only finite numbers are accepted",
        ),
        (
            "a: -.inf",
            "not valid YAML at line 1 column 4: number -.inf is not finite: only finite numbers are accepted",
        ),
        (
            "a: &x [*x]",
            "not valid YAML at line 1 column 8: alias of a node that is not complete",
        ),
        (
            "? [a]\n: b",
            "not valid YAML at line 1 column 3: a map key must be a scalar",
        ),
        (
            "<<: 1",
            "not valid YAML at line 1 column 5: a merge key takes a map or a list of maps",
        ),
    ] {
        let error = Value::from_yaml(text).unwrap_err();
        assert_eq!(error.to_string(), message);
    }
    for text in ["a: [", "a: *nowhere", "\u{0}", "a: b: c"] {
        let error = Value::from_yaml(text).expect_err(text);
        assert!(
            matches!(
                error,
                Error::Yaml {
                    position: Some(_),
                    ..
                }
            ),
            "{error}"
        );
    }
}

#[test]
fn the_size_of_expanded_aliases_is_limited() {
    let text = |bytes: usize, aliases: usize| {
        format!(
            "a: &a {}\nb: [{}]\n",
            "x".repeat(bytes),
            ["*a"; 64].get(..aliases).unwrap().join(",")
        )
    };
    let mebibyte = 1 << 20;
    assert!(Value::from_yaml(&text(mebibyte, 16)).is_ok());
    assert_eq!(
        Value::from_yaml(&text(mebibyte, 17))
            .unwrap_err()
            .to_string(),
        "not valid YAML at line 2 column 53: the aliases expand to more than 16777216 bytes of strings and keys"
    );
    // Keys, keys that are aliases, and nested aliases also count.
    let long = "k".repeat(1000);
    let lines = |line: &str, n: usize| {
        (0..n)
            .map(|i| line.replace('#', &i.to_string()))
            .collect::<String>()
    };
    let list = ["*a"; 600].join(",");
    for text in [
        format!("a: &a {{{long}: 1}}\nb:\n{}", lines("- *a\n", 17_000)),
        format!("a: &a {long}\nb:\n{}", lines("- {*a : 1}\n", 17_000)),
        format!("a: &a {long}\nb: &b [{list}]\n{}", lines("c#: *b\n", 28)),
    ] {
        let error = Value::from_yaml(&text).unwrap_err().to_string();
        assert!(error.contains("the aliases expand to more than"), "{error}");
    }
}

#[test]
fn duplicate_keys_are_rejected_in_maps_of_any_order_and_size() {
    for n in [2, 15, 16, 17, 18, 100] {
        for at in [0, 1, n / 2, n - 1] {
            let mut keys: Vec<String> = (0..n).rev().map(|i| format!("k{i:03}: {i}\n")).collect();
            assert_eq!(
                Value::from_yaml(&keys.concat())
                    .unwrap()
                    .as_map()
                    .unwrap()
                    .len(),
                n
            );
            keys.push(keys[at].clone());
            let error = Value::from_yaml(&keys.concat()).unwrap_err().to_string();
            assert!(
                error.contains(&format!("line {} column 1: duplicate key `k", n + 1)),
                "{error}"
            );
        }
    }
}

#[test]
fn integers_beyond_64_bits_are_floats() {
    let value = Value::from_yaml("[9223372036854775807, 9223372036854775808]").unwrap();
    let expected = Value::from_json("[9223372036854775807, 9223372036854775808]").unwrap();
    assert!(value.strict_eq(&expected), "{value}");
}
